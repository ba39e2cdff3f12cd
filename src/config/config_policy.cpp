// The schema of a policy: `defaults`, and what an operation may say differently.
#include <algorithm>
#include <map>
#include <memory>

#include "config/config_codec.hpp"
#include "config/config_schema.hpp"

namespace onceward::config {
namespace {

struct KeyFrom {
  KeySource source = KeySource::header;
  std::string argument;
};

// key.from: header | json:/pointer | content | header:Name
struct KeyFromCodec {
  std::string read(const YamlNode& node, KeyFrom& out) const {
    const std::string_view text = node.text;
    if (text == "header") {
      out = {KeySource::header, ""};
    } else if (text == "content") {
      out = {KeySource::content, ""};
    } else if (text.starts_with("header:")) {
      if (!is_header_name(text.substr(7))) return "a name is missing or not valid after 'header:'";
      out = {KeySource::named_header, std::string(text.substr(7))};
    } else if (text.starts_with("json:")) {
      if (std::string wrong = check_pointer(text.substr(5)); !wrong.empty()) return wrong;
      out = {KeySource::json, std::string(text.substr(5))};
    } else {
      return "expected header, json:/pointer, content or header:NAME, found '" + node.text + "'";
    }
    return {};
  }
  YamlNode write(const KeyFrom& value) const {
    switch (value.source) {
      case KeySource::header:
        return YamlNode::string("header");
      case KeySource::content:
        return YamlNode::string("content");
      case KeySource::json:
        return YamlNode::string("json:" + value.argument);
      case KeySource::named_header:
        return YamlNode::string("header:" + value.argument);
    }
    return {};
  }
};

void describe_key(Fields& fields, KeyPolicy& key) {
  fields.setting("header", value(key.header, HeaderNameCodec{}));
  fields.setting("required", value(key.required, BoolCodec{}));
  fields.setting("strict", value(key.strict, BoolCodec{}));
  fields.setting("max_length", value(key.max_length, CountCodec{1, 255}));
  fields.setting("from", {.read =
                              [&key](const YamlNode& node) {
                                KeyFrom from;
                                std::string wrong = KeyFromCodec{}.read(node, from);
                                if (wrong.empty()) key.from = from.source;
                                if (wrong.empty()) key.from_argument = from.argument;
                                return wrong;
                              },
                          .write = [&key] { return KeyFromCodec{}.write({key.from, key.from_argument}); }});
}

void describe_in_progress(Fields& fields, InProgressPolicy& in_progress) {
  const DurationCodec wait{.min = Duration(0), .max = std::chrono::hours(1)};
  fields.setting("wait", value(in_progress.wait, wait));
  fields.setting("max_wait", value(in_progress.max_wait, wait));
  fields.setting("then", value(in_progress.then, one_of<InProgressThen>("reject", "accept")));
  fields.rule({"wait", "max_wait"}, [&in_progress]() -> std::string {
    return in_progress.wait > in_progress.max_wait ? "wait is longer than max_wait" : "";
  });
}

void describe_fingerprint(Fields& fields, FingerprintPolicy& fingerprint) {
  fields.setting("mode", value(fingerprint.mode, one_of<FingerprintMode>("canonical", "raw")));
  fields.list("ignore", values(fingerprint.ignore, PointerCodec{}));
  fields.list("include", values(fingerprint.include, PointerCodec{}));
  fields.setting("query", value(fingerprint.query, BoolCodec{}));
  fields.list("headers", values(fingerprint.headers, HeaderNameCodec{}));
  fields.rule({"mode", "ignore", "include"}, [&fingerprint]() -> std::string {
    const bool pointers = !fingerprint.ignore.empty() || !fingerprint.include.empty();
    return fingerprint.mode == FingerprintMode::raw && pointers
               ? "mode: raw hashes bytes; ignore and include need mode: canonical"
               : "";
  });
}

// What one `outcomes` section lists: codes and classes (5 for 5xx). A code is more exact than its class,
// so `unknown: [5xx], replay: [501]` is no contradiction, while one code in two lists is.
using OutcomeDraft = std::map<int, OutcomeClass>;

constexpr std::string_view outcome_names[] = {"replay", "retry", "unknown"};

std::string add_outcome(OutcomeDraft& draft, OutcomeClass outcome, const YamlNode& node) {
  const bool is_class =
      node.text.size() == 3 && node.text.ends_with("xx") && node.text[0] >= '2' && node.text[0] <= '5';
  int code = is_class ? node.text[0] - '0' : 0;
  if (!is_class && !StatusCodec{}.read(node, code).empty())
    return "expected a status code from 200 to 599 or a class such as 5xx, found '" + node.text + "'";
  const auto [earlier, added] = draft.emplace(code, outcome);
  if (added) return {};
  if (earlier->second == outcome) return "'" + node.text + "' is listed twice";
  return "'" + node.text + "' is already listed under " +
         std::string(outcome_names[static_cast<std::size_t>(earlier->second)]);
}

void apply_outcomes(const OutcomeDraft& draft, OutcomeTable& table) {
  for (const auto& [code, outcome] : draft) {  // classes sort before codes
    if (code < 100) {
      table.set_class(code, outcome);
    } else {
      table.set(code, outcome);
    }
  }
}

OutcomeClass most_common(const OutcomeTable& table, int hundreds) {
  std::array<int, 3> counts{};
  for (int code = hundreds * 100; code < hundreds * 100 + 100; ++code)
    ++counts[static_cast<std::size_t>(table.of(code))];
  return static_cast<OutcomeClass>(std::ranges::max_element(counts) - counts.begin());
}

// Every status appears, as a class or as an exception from one: the text means the same on any base.
std::vector<YamlNode> write_outcomes(const OutcomeTable& table, OutcomeClass outcome) {
  std::vector<YamlNode> nodes;
  for (int hundreds = 2; hundreds <= 5; ++hundreds) {
    if (most_common(table, hundreds) == outcome)
      nodes.push_back(YamlNode::string(std::to_string(hundreds) + "xx"));
  }
  for (int code = 200; code < 600; ++code) {
    if (table.of(code) == outcome && most_common(table, code / 100) != outcome)
      nodes.push_back(YamlNode::literal(std::to_string(code)));
  }
  return nodes;
}

void describe_replay(Fields& fields, ReplayPolicy& replay) {
  fields.setting("status", {.read = [&replay](const YamlNode& node) -> std::string {
                              constexpr std::string_view words[] = {"original", "200"};
                              if (node.text != words[0] && node.text != words[1])
                                return expected_one_of(words, node.text);
                              replay.status_200 = node.text == words[1];
                              return {};
                            },
                            .write =
                                [&replay] {
                                  return replay.status_200 ? YamlNode::literal("200")
                                                           : YamlNode::string("original");
                                }});
  fields.setting("header", value(replay.header, HeaderNameCodec{}));
  fields.setting("keep_cookies", value(replay.keep_cookies, BoolCodec{}));
}

}  // namespace

void describe_outcomes(Fields& fields, OutcomeTable& table) {
  // Shared by the three lists of this one visit, and only for as long as it lasts.
  auto draft = std::make_shared<OutcomeDraft>();
  for (OutcomeClass outcome : {OutcomeClass::replay, OutcomeClass::retry, OutcomeClass::unknown}) {
    fields.list(outcome_names[static_cast<std::size_t>(outcome)],
                {.clear = [] {},
                 .add = [draft, outcome](const YamlNode& node) { return add_outcome(*draft, outcome, node); },
                 .write = [&table, outcome] { return write_outcomes(table, outcome); }});
  }
  fields.rule({"replay", "retry", "unknown"}, [draft, &table]() -> std::string {
    apply_outcomes(*draft, table);
    return {};
  });
}

void describe_policy(Fields& fields, Policy& policy) {
  fields.setting("mode", value(policy.mode, one_of<Mode>("enforce", "observe", "off")));
  fields.section("key", part(policy.key, describe_key));
  fields.setting("ttl", value(policy.ttl, DurationCodec{}));
  fields.setting("receipt_ttl", value(policy.receipt_ttl, DurationCodec{.min = Duration(0)}));
  fields.setting("lease", value(policy.lease, DurationCodec{.max = std::chrono::days(1)}));
  fields.setting("max_hold", value(policy.max_hold, DurationCodec{.max = std::chrono::days(30)}));
  fields.section("in_progress", part(policy.in_progress, describe_in_progress));
  fields.setting("mismatch_status", value(policy.mismatch_status, StatusCodec{{400, 409, 422}}));
  fields.section("fingerprint", part(policy.fingerprint, describe_fingerprint));
  fields.section("outcomes", part(policy.outcomes, describe_outcomes));
  fields.section("replay", part(policy.replay, describe_replay));
  fields.setting("on_unknown", value(policy.on_unknown, one_of<OnUnknown>("hold", "forward", "probe")));
  fields.setting("on_store_failure",
                 value(policy.on_store_failure, one_of<OnStoreFailure>("closed", "open")));
  fields.rule({"lease", "max_hold"}, [&policy]() -> std::string {
    return policy.lease > policy.max_hold ? "lease is longer than max_hold" : "";
  });
}

}  // namespace onceward::config
