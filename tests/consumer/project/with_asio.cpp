// The completion-token call: with a callback and with a coroutine.
#include <onceward/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>
#include <thread>

#include "check.hpp"

namespace {

namespace asio = boost::asio;
using onceward::Effect;
using onceward::Outcome;
using onceward::Ticket;

onceward::Command greet(std::string key) {
  onceward::Command command;
  command.operation = "greet";
  command.key = std::move(key);
  return command;
}

asio::awaitable<void> twice(onceward::Engine& engine, int& works) {
  const auto work = [&works](const Ticket&) { return Effect::succeeded("work " + std::to_string(++works)); };
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = co_await onceward::async_run(engine, greet("k2"), work, asio::use_awaitable);
    CHECK(outcome.value == "work 1");
  }
}

}  // namespace

void uses_asio() {
  onceward::Result<onceward::Engine> engine = onceward::Engine::open({});
  CHECK(engine);
  asio::io_context context;
  const std::thread::id here = std::this_thread::get_id();
  int told = 0;
  int works = 0;
  onceward::async_run(
      *engine, greet("k1"),
      [&](const Ticket&, const onceward::Finish& finish) {
        CHECK(std::this_thread::get_id() == here);
        finish(Effect::succeeded("hello"));
      },
      asio::bind_executor(context, [&](const Outcome& outcome) {
        CHECK(std::this_thread::get_id() == here);
        CHECK(outcome.value == "hello");
        ++told;
      }));
  onceward::async_run(
      *engine, greet("k3"), [](const Ticket&) -> Effect { throw std::runtime_error("boom"); },
      asio::bind_executor(context, [&](const Outcome& outcome) {
        CHECK(outcome.kind == Outcome::Kind::unknown && outcome.message == "boom");
        ++told;
      }));
  asio::co_spawn(context, twice(*engine, works), asio::detached);
  context.run();
  CHECK(told == 2 && works == 1);
}
