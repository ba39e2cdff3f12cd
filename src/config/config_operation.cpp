#include "config/config_operation.hpp"

#include <algorithm>

#include "config/config_codec.hpp"
#include "config/config_schema.hpp"
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

void describe_unique(Fields& fields, UniqueConfig& unique) {
  fields.setting("name", required(value(unique.name, TextCodec{128})));
  fields.list("fields", required(values(unique.fields, PointerCodec{})));
  fields.setting("keep", value(unique.keep, DurationCodec{}));
  fields.setting("on_conflict", value(unique.on_conflict, one_of<OnConflict>("reject", "replay")));
}

void describe_suspect(Fields& fields, SuspectConfig& suspect) {
  fields.list("fields", required(values(suspect.fields, PointerCodec{})));
  fields.setting("within", value(suspect.within, DurationCodec{}));
  fields.setting("action", value(suspect.action, one_of<SuspectAction>("flag", "reject", "replay")));
}

void describe_event(Fields& fields, EventConfig& event) {
  fields.setting("on", value(event.on, one_of<EventOn>("succeeded", "failed", "unknown")));
  fields.setting("type", required(value(event.type, TextCodec{256})));
}

void describe_bulk(Fields& fields, BulkConfig& bulk) {
  fields.setting("items", required(value(bulk.items, PointerCodec{})));
  fields.setting("id", required(value(bulk.id, PointerCodec{})));
  fields.setting("request", required(value(bulk.request, RequestLineCodec{})));
  fields.setting("parallel", value(bulk.parallel, CountCodec{1, 1024}));
}

}  // namespace

void describe_operation(Fields& fields, OperationConfig& operation) {
  fields.setting("name", optional_text(operation.name, TextCodec{128}));
  fields.setting("match", required(value(operation.match, MatchCodec{})));
  describe_policy(fields, operation.policy);
  fields.section("probe", optional_part(operation.probe, describe_probe));
  fields.section("unique", optional_part(operation.unique, describe_unique));
  fields.section("suspect", optional_part(operation.suspect, describe_suspect));
  fields.sections("events", parts(operation.events, describe_event));
  fields.section("bulk", optional_part(operation.bulk, describe_bulk));
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
