// The engine for Asio programs: async_run(engine, command, work, token) with any completion token
// (callback, use_future, use_awaitable). The work runs on the handler's executor, as Effect(const Ticket&)
// or as void(const Ticket&, Finish) when it is itself asynchronous. Needs Boost.Asio; nothing else of the
// library does. The engine must outlive the call.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "onceward/engine.hpp"

namespace onceward {

namespace api {

namespace detail {

// What the work throws has nowhere to go: it may have happened, so the outcome is unknown.
template <class Work>
void run_work(Work& work, const Ticket& ticket, const Finish& finish) {
  try {
    if constexpr (std::is_invocable_v<Work&, const Ticket&, Finish>) {
      work(ticket, finish);
    } else {
      finish(work(ticket));
    }
  } catch (const std::exception& error) {
    finish(Effect::unknown(error.what()));
  } catch (...) {
    finish(Effect::unknown("the work threw"));
  }
}

template <class Handler, class Work>
void start(Engine& engine, Command command, Work work, Handler handler) {
  namespace asio = boost::asio;
  auto executor = asio::get_associated_executor(handler);
  // Shared by two callbacks that are copied; each is called at most once.
  auto held = std::make_shared<std::pair<Handler, Work>>(std::move(handler), std::move(work));
  auto guard = asio::make_work_guard(executor);
  engine.run(
      std::move(command),
      [held, executor](const Ticket& ticket, Finish finish) {
        asio::post(executor, [held, ticket, finish] { run_work(held->second, ticket, finish); });
      },
      [held, executor, guard](Outcome outcome) {
        asio::post(executor, [held, outcome = std::move(outcome)]() mutable {
          Handler told = std::move(held->first);
          std::move(told)(std::move(outcome));
        });
      });
}

}  // namespace detail

template <class Work, class Token>
auto async_run(Engine& engine, Command command, Work work, Token&& token) {
  return boost::asio::async_initiate<Token, void(Outcome)>(
      [&engine](auto handler, Command what, Work how) {
        detail::start(engine, std::move(what), std::move(how), std::move(handler));
      },
      token, std::move(command), std::move(work));
}

}  // namespace api

}  // namespace onceward
