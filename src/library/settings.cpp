#include "onceward/settings.hpp"

#include "config/config.hpp"

namespace onceward::api {
namespace {

using config::Config;
using config::OperationConfig;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

// Rules that someone relies on and that this library would not keep.
std::vector<std::string> cannot(const Config& config) {
  std::vector<std::string> lines;
  const auto refuse = [&](bool used, const std::string& what) {
    if (used) lines.push_back(what + " is the proxy's: the library cannot do it");
  };
  const config::QuotasConfig& quotas = config.quotas;
  refuse(quotas.new_keys_per_second + quotas.burst + quotas.live_keys + quotas.in_flight != 0, "quotas");
  refuse(!config.security.encrypt.empty(), "security.encrypt");
  refuse(!config.security.secret_file.empty(), "security.secret_file");
  refuse(config.identity.jwt.has_value(), "identity.jwt");
  refuse(config.identity.tenant.from.source != config::IdentitySource::header,
         "identity.tenant.from other than header:NAME");
  refuse(config.identity.caller.source != config::IdentitySource::authorization,
         "identity.caller.from other than authorization");
  for (const OperationConfig& operation : config.operations) {
    const std::string who = "operation '" + operation.name + "': ";
    refuse(operation.probe || operation.policy.on_unknown == OnUnknown::probe, who + "probe");
    refuse(operation.bulk.has_value(), who + "bulk");
    refuse(operation.reference.has_value(), who + "reference");
  }
  return lines;
}

}  // namespace

Result<Settings> settings_from_yaml(std::string_view text, const std::string& name) {
  config::ConfigSources sources;
  sources.file_name = name;
  sources.text = text;
  const auto config = config::load_config(sources);
  if (!config) return Error{Errc::invalid, joined(config.error().messages)};
  if (const auto lines = cannot(*config); !lines.empty()) return Error{Errc::invalid, joined(lines)};

  Settings settings;
  settings.engine.store = config->store.text;
  if (config->cache) settings.engine.cache = config->cache->text;
  settings.engine.synced = config->durability == config::Durability::disk;
  settings.engine.max_response = config->limits.max_response;
  settings.engine.defaults = config->defaults;
  for (const OperationConfig& operation : config->operations) {
    settings.engine.operations.push_back({operation.name, operation.match, operation.policy});
  }
  settings.http.tenant_header = config->identity.tenant.from.argument;
  settings.http.tenant_required = config->identity.tenant.required;
  settings.http.tenant_is_uuid = config->identity.tenant.format == config::TenantFormat::uuid;
  return settings;
}

}  // namespace onceward::api
