#include "base/failpoint.hpp"

#ifdef ONCEWARD_FAILPOINTS

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

namespace onceward {
namespace {

constexpr std::array<std::string_view, failpoint_count> names = {
    "lookup.before",  "lookup.after",  "claim.before",   "claim.after",     "dispatch.before",
    "dispatch.after", "renew.before",  "renew.after",    "complete.before", "complete.after",
    "release.before", "release.after", "unknown.before", "unknown.after",   "resolve.before",
    "resolve.after",  "purge.before",  "purge.after",    "connect.before",  "send.before",
    "send.after",     "receive.after", "answer.before",  "answer.after",
};

constexpr std::uint64_t for_ever = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t sleep_ms_max = 600'000;

enum class Action : std::uint8_t { kill, stop, sleep, error };

struct Rule {
  Failpoint point{};
  Action action{};
  std::chrono::milliseconds sleep{};
  std::uint64_t first = 1;
  std::uint64_t last = for_ever;
};

std::vector<Rule> rules;  // written before threads start, then only read
std::array<std::atomic<std::uint64_t>, failpoint_count> passed;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Failpoint> point_from(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<Failpoint>(i);
  return std::nullopt;
}

bool read_action(std::string_view text, Rule& rule) {
  constexpr std::string_view sleep = "sleep=";
  if (text.starts_with(sleep)) {
    const auto ms = number(text.substr(sleep.size()));
    if (!ms || *ms > sleep_ms_max) return false;
    rule.action = Action::sleep;
    rule.sleep = std::chrono::milliseconds(*ms);
    return true;
  }
  if (text == "kill") return rule.action = Action::kill, true;
  if (text == "stop") return rule.action = Action::stop, true;
  if (text == "error") return rule.action = Action::error, true;
  return false;
}

bool read_range(std::string_view text, Rule& rule) {
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *first == 0 || *last < *first) return false;
  rule.first = *first;
  rule.last = *last;
  return true;
}

Result<Rule> read_rule(std::string_view text) {
  const auto wrong = [text](std::string_view what) {
    return Error{Errc::invalid, "ONCEWARD_FAILPOINT: '" + std::string(text) + "': " + std::string(what)};
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return wrong("not name:action[@n[-m]]");
  const std::size_t at = text.find('@', colon);
  Rule rule;
  const auto point = point_from(text.substr(0, colon));
  if (!point) return wrong("no such point");
  rule.point = *point;
  const std::size_t action_end = at == std::string_view::npos ? text.size() : at;
  if (!read_action(text.substr(colon + 1, action_end - colon - 1), rule)) {
    return wrong("the action is one of kill, stop, sleep=MS (at most 600000), error");
  }
  if (at != std::string_view::npos && !read_range(text.substr(at + 1), rule)) {
    return wrong("after @ comes n or n-m, counted from 1");
  }
  return rule;
}

bool act(const Rule& rule) {
  // A test whose point was never passed would prove nothing; this line tells it.
  const std::string_view name = names[static_cast<std::size_t>(rule.point)];
  ::dprintf(STDERR_FILENO, "{\"failpoint\":\"%.*s\"}\n", static_cast<int>(name.size()), name.data());
  switch (rule.action) {
    // raise() and not kill(): the signal takes this very thread before it can run another instruction.
    case Action::kill:
      ::raise(SIGKILL);
      return false;
    case Action::stop:
      ::raise(SIGSTOP);
      return false;
    case Action::sleep:
      std::this_thread::sleep_for(rule.sleep);
      return false;
    case Action::error:
      return true;
  }
  return false;
}

}  // namespace

Result<Done> arm_failpoints(std::string_view text) {
  std::vector<Rule> read;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    Result<Rule> rule = read_rule(text.substr(0, comma));
    if (!rule) return rule.error();
    read.push_back(*rule);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (comma != std::string_view::npos && text.empty()) {
      return Error{Errc::invalid, "ONCEWARD_FAILPOINT: ends with a comma"};
    }
  }
  rules = std::move(read);
  for (auto& count : passed) count = 0;
  return Done{};
}

bool failpoints_armed() { return !rules.empty(); }

bool fails_at(Failpoint point) {
  if (rules.empty()) return false;
  const std::uint64_t time = ++passed[static_cast<std::size_t>(point)];
  for (const Rule& rule : rules)
    if (rule.point == point && rule.first <= time && time <= rule.last) return act(rule);
  return false;
}

}  // namespace onceward

#endif
