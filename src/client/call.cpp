#include "client/call.hpp"

#include <algorithm>
#include <array>

#include "base/system.hpp"
#include "client/retry_after.hpp"
#include "core/json_value.hpp"
#include "http/head.hpp"

namespace onceward::client {
namespace {

using net::Worker;

double chance() {
  std::array<std::uint8_t, 4> bytes{};
  SystemRandom().fill(bytes);
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return static_cast<double>(value) / 4294967296.0;
}

bool is_problem(const Answer& answer) {
  const std::string_view type = answer.header("Content-Type");
  return http::same_name(type.substr(0, type.find_first_of("; ")), "application/problem+json");
}

std::string member(const Answer& answer, const char* pointer) {
  if (!is_problem(answer)) return {};
  Result<std::string> value = json_value_at(answer.body, pointer);
  return value ? std::move(*value) : std::string();
}

int to_status(const std::string& text) {
  const bool is_status =
      text.size() == 3 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return is_status ? std::stoi(text) : 0;
}

std::string describe(const Answer& answer, const std::string& code) {
  return "the server answered " + std::to_string(answer.status) + (code.empty() ? "" : " " + code);
}

}  // namespace

std::string_view Answer::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const Header& h) { return http::same_name(h.first, name); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

void Call::stop() {
  stopped_ = true;
  if (lease_) lease_.close();
  pause_.wake_all();
}

Task<Attempt> Call::attempt(Origin& origin, std::optional<Duration>& blocked) {
  blocked = origin.breaker.blocked(Worker::now());
  if (blocked)
    co_return Attempt{Attempt::Kind::not_sent, {}, "too many failures: the server is left alone for a while"};
  const MonoTime deadline = std::min<MonoTime>(Worker::now() + options_.retry.attempt_timeout,
                                               progress_.started + options_.retry.deadline);
  Attempt made = co_await make_attempt(*origin.upstream, request_, options_.max_response_bytes, lease_,
                                       deadline, &stopped_);
  ++outcome_.attempts;
  tell(origin, made);
  co_return made;
}

void Call::tell(Origin& origin, const Attempt& made) const {
  const int status = made.answer.status;
  const bool answered = made.kind == Attempt::Kind::answered;
  if (stopped_ && !answered) return origin.breaker.abandoned();
  if (!answered || status == 502 || status == 503 || status == 504)
    return origin.breaker.failed(Worker::now());
  origin.breaker.succeeded();
}

Verdict Call::judge(Attempt made, std::optional<Duration>& retry_after) {
  if (made.kind != Attempt::Kind::answered) {
    outcome_.answer = {};
    outcome_.reason = made.reason;
    return no_answer(made.kind == Attempt::Kind::lost);
  }
  const Answer& answer = outcome_.answer = std::move(made.answer);
  const std::string code = member(answer, "/code");
  const std::string_view wait = answer.header("Retry-After");
  const Verdict verdict = classify({.status = answer.status,
                                    .code = code,
                                    .original_status = to_status(member(answer, "/originalStatus")),
                                    .has_retry_after = !wait.empty(),
                                    .location = answer.header("Location")});
  retry_after = parse_retry_after(wait, SystemClock().now());
  outcome_.reason = describe(answer, code);
  outcome_.operation_id = answer.header("Onceward-Operation-Id");
  if (outcome_.operation_id.empty()) outcome_.operation_id = member(answer, "/operationId");
  return verdict;
}

Call::End Call::finish(Action action, Doubt doubt, std::string reason) {
  outcome_.final = doubt == Doubt::settled;
  if (action == Action::done) {
    outcome_.ending = Ending::succeeded;
  } else {
    outcome_.ending = in_doubt_ ? Ending::unknown : Ending::failed;
  }
  if (!reason.empty()) outcome_.reason += "; " + reason;
  return {std::move(outcome_), in_doubt_};
}

Task<Call::End> Call::run(Origin& origin, RetryBudget& budget) {
  progress_.started = Worker::now();
  budget.first_attempt();
  for (;;) {
    if (stopped_) co_return finish(Action::stop, Doubt::kept, "cancelled");
    std::optional<Duration> retry_after;
    const Verdict verdict = judge(co_await attempt(origin, retry_after), retry_after);
    if (verdict.doubt != Doubt::kept) in_doubt_ = verdict.doubt == Doubt::raised;
    if (verdict.action == Action::done || verdict.action == Action::stop)
      co_return finish(verdict.action, verdict.doubt, {});
    ++(verdict.action == Action::wait ? progress_.waits : progress_.attempts);
    const auto next =
        next_pause(options_.retry, progress_, verdict.action, retry_after, chance(), Worker::now());
    if (const GiveUp* over = std::get_if<GiveUp>(&next))
      co_return finish(Action::stop, Doubt::kept, std::string(over->why));
    if (verdict.action == Action::retry && !budget.take())
      co_return finish(Action::stop, Doubt::kept, "the budget for retries is spent");
    const Duration pause = std::get<Pause>(next).length;
    if (options_.on_retry && !stopped_) options_.on_retry(outcome_.reason, pause);
    if (!stopped_ && pause.count() > 0) (void)co_await pause_.wait(Worker::now() + pause);
  }
}

}  // namespace onceward::client
