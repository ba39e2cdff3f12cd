#include "proxy/upstream_prober.hpp"

#include <algorithm>

#include "core/probe_target.hpp"
#include "net/worker.hpp"
#include "proxy/capture.hpp"

namespace onceward {
namespace {

using net::Worker;

// A probe is a small question: one that takes longer can be asked again.
constexpr Duration longest{10'000};

Error no_answer(const char* why) { return {Errc::unavailable, why}; }

}  // namespace

void UpstreamProber::use(std::shared_ptr<const Rules> rules, std::shared_ptr<http::Upstream> upstream) {
  rules_ = std::move(rules);
  upstream_ = std::move(upstream);
  probes_anything_ = std::ranges::any_of(rules_->operations, [](const Operation& operation) {
    return operation.policy->on_unknown == OnUnknown::probe;
  });
}

std::shared_ptr<const Policy> UpstreamProber::policy_of(std::string_view operation) const {
  for (const Operation& known : rules_->operations) {
    // Of a bulk operation there is only something to ask about its items.
    if (known.bulk && known.bulk->item_name == operation) return known.policy;
    if (known.name == operation) return known.bulk ? known.bulk->whole : known.policy;
  }
  return nullptr;
}

Duration UpstreamProber::time_limit() const { return std::min(upstream_->options().timeout, longest); }

Task<ProbeAnswer> UpstreamProber::ask(const Record& record, const Policy& policy) {
  const std::string id = to_string(record.operation_id);
  const Result<std::string> target = probe_target(record, *policy.probe);
  if (!target) {
    log_.warning("cannot probe", {{"operation_id", id}, {"reason", target.error().message}});
    co_return CannotTell{target.error().message};
  }
  std::string head = policy.probe->method;
  head.append(" ").append(upstream_->base_path()).append(*target).append(" HTTP/1.1\r\nHost: ");
  head.append(upstream_->authority()).append("\r\nAccept: */*\r\nUser-Agent: onceward\r\n");
  head.append("Onceward-Operation-Id: ").append(id).append("\r\nOnceward-Epoch: ");
  head.append(std::to_string(record.epoch)).append("\r\nOnceward-Probe: 1\r\n\r\n");
  Result<ProbeReply> reply = co_await exchange(upstream_, std::move(head), policy, rules_->max_response);
  ProbeAnswer answer = reply ? read_probe_reply(std::move(*reply), *policy.probe)
                             : ProbeAnswer(CannotTell{reply.error().message});
  if (const auto* cannot = std::get_if<CannotTell>(&answer)) {
    log_.message(LogLevel::info, "probe cannot tell",
                 {{"operation", record.request->operation}, {"operation_id", id}, {"reason", cannot->why}});
  }
  co_return answer;
}

Task<Result<ProbeReply>> UpstreamProber::exchange(std::shared_ptr<http::Upstream> upstream, std::string head,
                                                  const Policy& policy, std::size_t max_response) {
  const MonoTime deadline = Worker::now() + std::min(upstream->options().timeout, longest);
  // An idle connection may turn out to be closed; a question may be asked twice.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const bool fresh = attempt > 0;
    Result<http::Lease> lease =
        fresh ? co_await upstream->connect(deadline) : co_await upstream->checkout(deadline);
    if (!lease) co_return lease.error();
    const bool may_repeat = !fresh && lease->reused();
    http::HeadStatus status = http::HeadStatus::closed;
    if (co_await lease->send(head, {}, deadline) == http::Sent::ok) {
      do {
        status = co_await lease->read_head(policy.probe->method, deadline);
      } while (status == http::HeadStatus::head && lease->head().status < 200 && lease->head().status != 101);
    }
    if (status == http::HeadStatus::closed && may_repeat) continue;
    if (status == http::HeadStatus::timeout) co_return no_answer("no answer in time");
    if (status != http::HeadStatus::head) co_return no_answer("no whole answer");
    ProbeReply reply;
    reply.status = lease->head().status;
    CapturedHead captured = capture_head(lease->head(), policy);
    reply.result = std::move(captured.result);
    reply.lines = std::move(captured.stored_lines);
    switch (co_await lease->read_body(max_response, reply.body, deadline)) {
      case http::BodyStatus::end:
        lease->release();
        break;
      case http::BodyStatus::piece:
        reply.body_omitted = true;
        break;
      default:
        co_return no_answer("half an answer");
    }
    co_return reply;
  }
  co_return no_answer("no connection stayed open");
}

}  // namespace onceward
