#include "config/config_operation.hpp"

#include <algorithm>

#include "config/config_codec.hpp"
#include "config/config_schema.hpp"
#include "core/outcome_events.hpp"
#include "core/probe_target.hpp"
#include "core/reserved.hpp"

namespace onceward::config {
namespace {

void describe_probe(Fields& fields, ProbeConfig& probe) {
  fields.setting("request", required(value(probe.request, RequestLineCodec{})));
  fields.list("applied", values(probe.applied, StatusCodec{}));
  fields.list("not_applied", values(probe.not_applied, StatusCodec{}));
  fields.setting("response", optional_text(probe.response, PointerCodec{}));
  fields.setting("status", value(probe.status, StatusCodec{}));
  fields.setting("every", value(probe.every, DurationCodec{.min = Duration(100)}));
  fields.setting("give_up", value(probe.give_up, DurationCodec{}));
  fields.rule({"request"}, [&probe]() -> std::string {
    // It may be sent any number of times, at any time.
    if (probe.request.method != "GET") return "a probe is a GET, found '" + probe.request.method + "'";
    return check_probe_target(probe.request.target);
  });
  fields.rule({"not_applied", "applied"}, [&probe]() -> std::string {
    for (int status : probe.not_applied) {
      if (std::ranges::find(probe.applied, status) != probe.applied.end())
        return std::to_string(status) + " is listed under applied and not_applied";
    }
    return {};
  });
  fields.rule({"give_up", "every"}, [&probe]() -> std::string {
    return probe.give_up < probe.every ? "give_up is shorter than every" : "";
  });
}

void describe_unique(Fields& fields, UniquePolicy& unique) {
  fields.setting("name", required(value(unique.name, TextCodec{128})));
  fields.list("fields", required(values(unique.fields, PointerCodec{})));
  fields.setting("keep", value(unique.keep, DurationCodec{}));
  fields.setting("on_conflict", value(unique.on_conflict, one_of<OnConflict>("reject", "replay")));
}

void describe_suspect(Fields& fields, SuspectPolicy& suspect) {
  fields.list("fields", required(values(suspect.fields, PointerCodec{})));
  fields.setting("within", value(suspect.within, DurationCodec{}));
  fields.setting("action", value(suspect.action, one_of<SuspectAction>("flag", "reject", "replay")));
}

void describe_event(Fields& fields, EventRule& event) {
  fields.setting("on", value(event.on, one_of<EventOn>("succeeded", "failed")));
  fields.setting("type", required(value(event.type, TextCodec{200})));
  fields.rule({"type"}, [&event]() -> std::string {
    return is_event_type(event.type) ? "" : "an event's type is made of visible ASCII characters";
  });
}

void describe_bulk(Fields& fields, BulkConfig& bulk) {
  fields.setting("items", required(value(bulk.items, PointerCodec{})));
  fields.setting("id", required(value(bulk.id, PointerCodec{})));
  fields.setting("request", required(value(bulk.request, RequestLineCodec{})));
  fields.setting("parallel", value(bulk.parallel, CountCodec{1, 1024}));
  fields.setting("max_items", value(bulk.max_items, CountCodec{1, 100'000}));
  fields.rule({"request"}, [&bulk] { return check_item_target(bulk.request.target); });
}

// reference: /pointer | header:NAME
struct ReferenceCodec {
  std::string read(const YamlNode& node, ReferenceConfig& out) const {
    const std::string_view text = node.text;
    if (text.starts_with("header:")) {
      if (!is_header_name(text.substr(7))) return "a name is missing or not valid after 'header:'";
      out = {true, std::string(text.substr(7))};
      return {};
    }
    if (!text.starts_with('/')) return "expected /pointer or header:NAME, found '" + node.text + "'";
    if (std::string wrong = check_pointer(text); !wrong.empty()) return wrong;
    out = {false, std::string(text)};
    return {};
  }
  YamlNode write(const ReferenceConfig& value) const {
    return YamlNode::string(value.is_header ? "header:" + value.where : value.where);
  }
};

}  // namespace

void describe_operation(Fields& fields, OperationConfig& operation) {
  fields.setting("name", optional_text(operation.name, TextCodec{128}));
  fields.setting("match", required(value(operation.match, MatchCodec{})));
  describe_policy(fields, operation.policy);
  fields.section("probe", optional_part(operation.probe, describe_probe));
  fields.section("unique", optional_part(operation.policy.unique, describe_unique));
  fields.section("suspect", optional_part(operation.policy.suspect, describe_suspect));
  fields.sections("events", parts(operation.policy.events, describe_event));
  fields.section("bulk", optional_part(operation.bulk, describe_bulk));
  fields.setting("reference", value(operation.reference, ReferenceCodec{}));
  fields.rule({"events"}, [&operation]() -> std::string {
    const std::vector<EventRule>& events = operation.policy.events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (events[i] == events[j]) return "the event '" + events[i].type + "' is listed twice";
      }
    }
    return {};
  });
  fields.rule({"mode", "bulk"}, [&operation]() -> std::string {
    // Its items are sent one by one or the request is passed on whole: there is no way to do it and only
    // look.
    return operation.bulk && operation.policy.mode == Mode::observe
               ? "a bulk request cannot be observed: use enforce or off"
               : "";
  });
  fields.rule({"on_unknown", "probe"}, [&operation]() -> std::string {
    return operation.policy.on_unknown == OnUnknown::probe && !operation.probe
               ? "on_unknown: probe needs a probe to ask"
               : "";
  });
  fields.rule({"name", "match"}, [&operation]() -> std::string {
    if (operation.name.empty()) operation.name = operation.match;
    // Metrics and logs call what matches no entry by this name.
    if (operation.name == "default") return "the name 'default' is reserved";
    return is_reserved_operation(operation.name)
               ? "names that begin with '" + std::string(reserved_prefix) + "' are reserved"
               : "";
  });
}

}  // namespace onceward::config
