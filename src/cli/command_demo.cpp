// `onceward demo`: an order service that loses answers, customers that retry, with and without Onceward.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/demo_driver.hpp"
#include "cli/demo_stage.hpp"

namespace onceward::cli {
namespace {

struct DemoArguments {
  std::size_t orders = 200;
  std::string loss = "0.15";
  std::string store = "memory";
  bool keep = false;
  bool json = false;
};

struct Side {
  DriverReport report;
  std::size_t created = 0;
  std::size_t more_than_once = 0;
};

Result<Side> run_side(WorkerThread& helper, const DemoService& service, const std::string& url,
                      const DriverPlan& plan) {
  const std::size_t before = service.orders();
  Result<std::unique_ptr<http::Upstream>> target = http::Upstream::make(helper.worker, {.url = url});
  if (!target) return target.error();
  std::promise<DriverReport> done;
  helper.worker.call([&] {
    spawn([](http::Upstream& to, DriverPlan what, std::promise<DriverReport>& told) -> Task<> {
      told.set_value(co_await drive(to, std::move(what)));
    }(**target, plan, done));
  });
  Side side{done.get_future().get(), service.orders() - before, 0};
  for (std::size_t i = 0; i < plan.intents; ++i) {
    if (service.orders_of(plan.customer_prefix + std::to_string(i)) > 1) ++side.more_than_once;
  }
  std::promise<void> closed;
  helper.worker.call([&] {
    target->reset();
    closed.set_value();
  });
  closed.get_future().wait();
  return side;
}

void print_text(const Side& without, const Side& with) {
  std::printf("\n%-44s %12s %14s\n", "", "without", "with Onceward");
  const auto row = [](const char* what, std::size_t a, std::size_t b) {
    std::printf("%-44s %12zu %14zu\n", what, a, b);
  };
  row("orders that customers wanted", without.report.wanted, with.report.wanted);
  row("requests sent, retries included", without.report.requests, with.report.requests);
  row("answers that never arrived", without.report.unheard, with.report.unheard);
  row("orders created", without.created, with.created);
  row("customers charged more than once", without.more_than_once, with.more_than_once);
  row("retries that got the first answer", without.report.replays, with.report.replays);
  row("customers with an order in hand", without.report.confirmed, with.report.confirmed);
  row("outcomes held as unknown, to be looked into", without.report.held, with.report.held);
  row("customers who gave up, knowing nothing", without.report.gave_up, with.report.gave_up);
  std::printf("\n");
}

void print_json(const Side& without, const Side& with) {
  const auto object = [](const Side& side) {
    const DriverReport& r = side.report;
    return "{\"wanted\":" + std::to_string(r.wanted) + ",\"requests\":" + std::to_string(r.requests) +
           ",\"unheard\":" + std::to_string(r.unheard) + ",\"created\":" + std::to_string(side.created) +
           ",\"more_than_once\":" + std::to_string(side.more_than_once) +
           ",\"replays\":" + std::to_string(r.replays) + ",\"confirmed\":" + std::to_string(r.confirmed) +
           ",\"held\":" + std::to_string(r.held) + ",\"gave_up\":" + std::to_string(r.gave_up) + "}";
  };
  std::printf("{\"without\":%s,\"with\":%s}\n", object(without).c_str(), object(with).c_str());
}

void print_curl(const std::string& proxy, const std::string& api) {
  const std::string post = "curl -i " + proxy + "/api/orders -H 'Content-Type: application/json'";
  std::printf("Try it:\n");
  std::printf(
      "  %s -H 'Idempotency-Key: \"my-first-order\"' -d '{\"customerId\":\"ada\",\"amount\":12.50}'\n",
      post.c_str());
  std::printf("  # the same line again: the same order, Idempotent-Replayed: true\n");
  std::printf("  %s -H 'Idempotency-Key: \"my-first-order\"' -d '{\"customerId\":\"ada\",\"amount\":99}'\n",
              post.c_str());
  std::printf("  # another amount under the same key: 422, and it says which field changed\n");
  std::printf(
      "  %s -H 'Idempotency-Key: \"lost\"' -H 'X-Lose-Answer: 1' -d "
      "'{\"customerId\":\"bob\",\"amount\":7}'\n",
      post.c_str());
  std::printf(
      "  # the service creates the order and loses the answer: held as unknown, never sent twice\n\n");
  std::printf("Orders: curl -s %s/api/orders    Metrics: curl -s %s/metrics    Ctrl-C ends.\n", proxy.c_str(),
              api.c_str());
  std::fflush(stdout);
}

int fail(const Error& error) {
  std::cerr << "onceward: " << error.message << '\n';
  return error.code == Errc::invalid ? exit_usage : exit_failed;
}

int run_demo(const DemoArguments& arguments) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  char* end = nullptr;
  const double loss = std::strtod(arguments.loss.c_str(), &end);
  if (*end != '\0' || arguments.loss.empty() || !(loss >= 0 && loss <= 1)) {
    return fail({Errc::invalid, "--loss: give a share from 0 to 1"});
  }
  std::random_device device;
  const std::uint64_t seed = device();

  StagePlan stage_plan{.store = arguments.store, .loss = loss, .seed = seed};
  if (arguments.keep) {
    stage_plan.service = "127.0.0.1:9000";
    stage_plan.proxy = "127.0.0.1:8080";
    stage_plan.api = "127.0.0.1:9180";
  }
  const Result<std::unique_ptr<DemoStage>> stage = DemoStage::start(stage_plan);
  if (!stage) return fail(stage.error());
  DemoService& service = (*stage)->service();
  int result = exit_done;
  {
    WorkerThread driver_side;
    driver_side.run();
    if (!arguments.json) {
      std::printf(
          "%zu customers each want one order. The service loses %.0f %% of its answers, the network as many "
          "again;\nwhoever hears nothing tries again.\n",
          arguments.orders, loss * 100);
    }
    DriverPlan plan{"plain-", arguments.orders, loss, false, seed + 1};
    const Result<Side> without = run_side(driver_side, service, (*stage)->service_url(), plan);
    plan = {"guarded-", arguments.orders, loss, true, seed + 2};
    const Result<Side> with = run_side(driver_side, service, (*stage)->proxy_url(), plan);
    if (!without) return fail(without.error());
    if (!with) return fail(with.error());
    arguments.json ? print_json(*without, *with) : print_text(*without, *with);
    if (with->more_than_once != 0) result = exit_failed;
  }
  if (arguments.keep) {
    service.stop_losing();
    print_curl((*stage)->proxy_url(), (*stage)->api_url());
    int signal = 0;
    do {
      sigwait(&signals, &signal);
    } while (signal == SIGHUP);
  }
  return result;
}

}  // namespace

Command demo_command() {
  auto a = std::make_shared<DemoArguments>();
  return {
      .name = "demo",
      .summary = "Show what retries do with and without Onceward",
      .details =
          "Starts a small order service that loses answers after having created the order, the proxy in\n"
          "front of it, and a driver that retries. With --keep everything stays up to try by hand:\n"
          "the proxy on 127.0.0.1:8080, its API on 127.0.0.1:9180, the service on 127.0.0.1:9000.",
      .options = {{.names = "--orders",
                   .help = "How many orders are wanted",
                   .target = &a->orders,
                   .value_name = "N"},
                  {.names = "--loss",
                   .help = "Share of answers lost, 0 to 1",
                   .target = &a->loss,
                   .value_name = "SHARE"},
                  {.names = "--store",
                   .help = "Where the proxy keeps its records",
                   .target = &a->store,
                   .value_name = "URL"},
                  {.names = "--keep", .help = "Keep running, and print lines to try", .target = &a->keep},
                  {.names = "--json", .help = "Print the summary as one JSON object", .target = &a->json}},
      .run = [a] { return run_demo(*a); },
  };
}

}  // namespace onceward::cli
