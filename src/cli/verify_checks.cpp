#include "cli/verify_checks.hpp"

#include <algorithm>
#include <set>

#include "base/assert.hpp"
#include "client/verdict.hpp"

namespace onceward::cli {
namespace {

using client::Attempt;
using client::NewKey;
using client::WireRequest;

std::string quoted(const std::string& key) { return "\"" + key + "\""; }

bool is_answer(const Attempt& attempt) { return attempt.kind == Attempt::Kind::answered; }
bool is_good(const Attempt& attempt) { return is_answer(attempt) && attempt.answer.status < 400; }

std::string said(const Attempt& attempt) {
  if (!is_answer(attempt)) return attempt.reason;
  return "answered " + std::to_string(attempt.answer.status);
}

bool is_problem(const Attempt& attempt) {
  return attempt.answer.header("Content-Type").starts_with("application/problem+json");
}

bool is_marked(const Attempt& attempt) {
  return attempt.answer.header("Idempotent-Replayed") == "true" ||
         attempt.answer.header("Idempotency-Replayed") == "true" ||
         attempt.answer.header("X-Idempotent-Replayed") == "true";
}

// Still being worked on, by the rules that every client goes by.
bool is_running(const Attempt& attempt) {
  if (!is_answer(attempt)) return false;
  return client::classify({.status = attempt.answer.status,
                           .has_retry_after = !attempt.answer.header("Retry-After").empty(),
                           .location = attempt.answer.header("Location")})
                 .action == client::Action::wait ||
         attempt.answer.status == 409 || attempt.answer.status == 425;
}

class Checker {
 public:
  Checker(RawSender& sender, const VerifyPlan& plan, const std::function<void(const CheckResult&)>& tell)
      : sender_(sender), plan_(plan), tell_(tell) {}

  void run() {
    if (!first_request()) return;
    another_key();
    same_again();
    different_request();
    at_the_same_time();
    client_leaves();
    malformed_keys();
    spellings();
    without_a_key();
  }

 private:
  WireRequest wire(const std::string& body, const std::vector<std::string>& key_lines) {
    client::Request request = plan_.request;
    request.body = body;
    Result<WireRequest> made = client::make_wire_request(request, "k", {});
    ONCEWARD_ASSERT(made.has_value());  // the plan's request was checked before
    return with_key_lines(std::move(*made), key_lines);
  }
  Attempt send(const std::vector<std::string>& key_lines) {
    return sender_.send(wire(plan_.request.body, key_lines));
  }
  void tell(const char* name, Level level, Finding finding, std::string detail) {
    tell_({name, level, finding, std::move(detail)});
  }
  void tell(const char* name, Level level, bool passed, std::string detail) {
    tell(name, level, passed ? Finding::passed : Finding::failed, std::move(detail));
  }

  bool first_request() {
    first_ = send({quoted(key_)});
    tell("a first request is accepted", Level::must, is_good(first_), said(first_));
    return is_good(first_);
  }

  void another_key() {
    other_ = send({quoted(NewKey::random().text())});
    const bool marked = is_marked(other_);
    shows_executions_ = is_good(other_) && other_.answer.body != first_.answer.body;
    tell("another key is another execution", Level::must, is_good(other_) && !marked,
         marked ? "a new key got a replay" : said(other_));
  }

  void same_again() {
    const Attempt again = send({quoted(key_)});
    constexpr const char* name = "the same request again gets the first answer";
    const bool same = is_good(again) && again.answer.body == first_.answer.body;
    if (!same) {
      tell(name, Level::must, false,
           is_good(again) ? "another body: it ran twice, or the answer was not kept" : said(again));
    } else if (!shows_executions_ && !is_marked(again)) {
      tell(name, Level::must, Finding::unclear,
           "every execution answers alike: nothing shows whether it ran twice. Verify with a request whose "
           "answer has "
           "an id");
    } else {
      tell(name, Level::must, true, said(again));
    }
    const bool same_status = again.answer.status == first_.answer.status;
    tell("with the first status", Level::should, same_status, said(again));
    tell("and marked as a replay", Level::note, is_marked(again),
         is_marked(again) ? "" : "no Idempotent-Replayed header");
  }

  void different_request() {
    const Attempt answered = sender_.send(wire(plan_.other_body, {quoted(key_)}));
    const int status = answered.answer.status;
    const bool refused = is_answer(answered) && status >= 400 && status < 500;
    tell("a different request under the same key is refused", Level::must, refused, said(answered));
    if (!refused) return;
    tell("as 422", Level::should, status == 422, said(answered));
    tell("with a problem document", Level::should, is_problem(answered),
         std::string(answered.answer.header("Content-Type")));
    const Attempt after = send({quoted(key_)});
    tell("and the first answer is still there", Level::must,
         is_good(after) && after.answer.body == first_.answer.body, said(after));
  }

  // Until the answer is not "still running".
  Attempt settled(const std::string& key) {
    const MonoTime end = net::Worker::now() + plan_.patience;
    for (;;) {
      Attempt answered = send({quoted(key)});
      if (!is_running(answered) || net::Worker::now() >= end) return answered;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  void at_the_same_time() {
    const std::string key = NewKey::random().text();
    const std::vector<WireRequest> requests(plan_.parallel, wire(plan_.request.body, {quoted(key)}));
    const std::vector<Attempt> answers = sender_.send_all(requests);
    std::set<std::string> bodies;
    std::size_t good = 0, running = 0;
    for (const Attempt& answered : answers) {
      if (is_good(answered) && !is_running(answered)) {
        ++good;
        bodies.insert(answered.answer.body);
      } else if (is_running(answered)) {
        ++running;
      }
    }
    const Attempt after = settled(key);
    if (is_good(after)) bodies.insert(after.answer.body);
    const std::string counts = std::to_string(good) + " answered, " + std::to_string(running) +
                               " told to wait, " + std::to_string(answers.size() - good - running) +
                               " otherwise";
    constexpr const char* name = "duplicates at the same time are one execution";
    if (bodies.size() != 1 || good + running != answers.size()) {
      tell(name, Level::must, false, counts + ", " + std::to_string(bodies.size()) + " different results");
    } else {
      tell(name, Level::must, shows_executions_ ? Finding::passed : Finding::unclear, counts);
    }
  }

  void client_leaves() {
    const std::string key = NewKey::random().text();
    const bool sent = sender_.send_and_leave(wire(plan_.request.body, {quoted(key)}));
    const Attempt one = settled(key);
    const Attempt two = settled(key);
    const bool same = sent && is_good(one) && is_good(two) && one.answer.body == two.answer.body;
    tell("a client that leaves and comes back gets one outcome", Level::must, same, said(two));
  }

  void malformed_keys() {
    const std::pair<const char*, std::vector<std::string>> cases[] = {
        {"an empty key is refused", {"\"\""}},
        {"a key that is no String is refused", {"\"abc"}},
        {"two keys are refused", {"\"onceward-verify-a\"", "\"onceward-verify-b\""}},
        {"a list of keys is refused", {"\"onceward-verify-a\", \"onceward-verify-b\""}},
        {"a key of 5000 characters is refused", {quoted(std::string(5000, 'k'))}},
    };
    for (const auto& [name, lines] : cases) {
      const Attempt answered = send(lines);
      const bool refused =
          is_answer(answered) && answered.answer.status >= 400 && answered.answer.status < 500;
      tell(name, Level::should, refused, said(answered));
    }
  }

  void spellings() {
    const Attempt bare = send({key_});
    const bool same = is_good(bare) && bare.answer.body == first_.answer.body;
    tell("a key with and without quotes is the same", Level::note, same, said(bare));
  }

  void without_a_key() {
    const Attempt answered = send({});
    const bool required = is_answer(answered) && answered.answer.status == 400;
    tell("a request without a key is refused (the key is required here)", Level::note, required,
         said(answered));
  }

  RawSender& sender_;
  const VerifyPlan& plan_;
  const std::function<void(const CheckResult&)>& tell_;
  const std::string key_ = NewKey::random().text();
  Attempt first_;
  Attempt other_;
  bool shows_executions_ = false;  // two executions do not answer alike
};

}  // namespace

std::string_view to_string(Level level) {
  constexpr std::string_view names[] = {"must", "should", "note"};
  return names[static_cast<std::size_t>(level)];
}

std::string_view to_string(Finding finding) {
  constexpr std::string_view names[] = {"passed", "failed", "unclear"};
  return names[static_cast<std::size_t>(finding)];
}

void run_checks(RawSender& sender, const VerifyPlan& plan,
                const std::function<void(const CheckResult&)>& tell) {
  Checker(sender, plan, tell).run();
}

bool conforms(const std::vector<CheckResult>& results) {
  return !results.empty() && std::ranges::all_of(results, [](const CheckResult& result) {
    return result.level != Level::must || result.finding == Finding::passed;
  });
}

std::string changed_body(const std::string& body, std::string_view content_type) {
  const std::size_t last = body.find_last_not_of(" \t\r\n");
  if (content_type.find("json") != std::string_view::npos && last != std::string::npos && body[last] == '}') {
    const std::size_t before = body.find_last_not_of(" \t\r\n", last == 0 ? 0 : last - 1);
    const bool empty = before != std::string::npos && body[before] == '{';
    return body.substr(0, last) + (empty ? "" : ",") + "\"onceward_verify\":1}";
  }
  return body + (body.empty() ? "" : "&") + "onceward-verify=1";
}

}  // namespace onceward::cli
