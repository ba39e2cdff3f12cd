// The service's settings, from a YAML file and from flags of the same names, which win.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>

#include "onceward/settings.hpp"

namespace examples {

// store.type is one of four words, or any store URL. In Redis the prefix is also that of the keys' names, so
// that whoever looks into a shared server sees whose they are.
inline std::string store_url(const std::string& type, const std::string& prefix) {
  if (type == "file") return "file:./orders-data";
  if (type == "postgres") return "postgres://127.0.0.1/orders";
  const std::string url = type == "redis" ? "redis://127.0.0.1:6379" : type;
  if (!url.starts_with("redis") || prefix.empty()) return url;
  return url + (url.find('?') == std::string::npos ? "?" : "&") + "prefix=" + prefix;
}

inline onceward::Result<onceward::Settings> read_store_settings(std::map<std::string, std::string>& flags) {
  std::map<std::string, std::string> store = {{"type", "memory"},
                                              {"key-prefix", "order:idempotency:"},
                                              {"ttl", "24h"},
                                              {"lock-ttl", "30s"},
                                              {"max-response-bytes", "10MiB"}};
  try {
    const YAML::Node file = flags["settings"].empty() ? YAML::Node() : YAML::LoadFile(flags["settings"]);
    for (const auto& entry : file["store"]) {
      const auto name = entry.first.as<std::string>();
      if (!store.contains(name)) return onceward::Error{onceward::Errc::invalid, "no setting store." + name};
      store[name] = entry.second.as<std::string>();
    }
  } catch (const YAML::Exception& error) {
    return onceward::Error{onceward::Errc::invalid, flags["settings"] + ": " + error.what()};
  }
  for (auto& [name, value] : store) {
    if (!flags["store." + name].empty()) value = flags["store." + name];
  }
  if (!flags["store"].empty()) store["type"] = flags["store"];

  // The rest is what this service has decided: who its tenants are, and how it answers.
  YAML::Node rules;
  rules["store"] = store_url(store["type"], store["key-prefix"]);
  rules["limits"]["max_response"] = store["max-response-bytes"];
  rules["identity"]["tenant"]["required"] = true;
  rules["identity"]["tenant"]["format"] = "uuid";
  rules["defaults"]["ttl"] = store["ttl"];
  rules["defaults"]["lease"] = store["lock-ttl"];
  rules["defaults"]["in_progress"]["wait"] = "0s";  // a duplicate is told at once
  rules["defaults"]["mismatch_status"] = 409;
  rules["defaults"]["replay"]["status"] = 200;
  rules["operations"][0]["name"] = "orders.create";
  rules["operations"][0]["match"] = "POST /orders";
  onceward::Result<onceward::Settings> settings = onceward::settings_from_yaml(YAML::Dump(rules), "settings");
  if (settings) settings->engine.key_prefix = store["key-prefix"];
  return settings;
}

}  // namespace examples
