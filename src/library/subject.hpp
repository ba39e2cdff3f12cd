// Subject: what a command or an HTTP request is about, ready for the engine. Owns its text, because the
// engine may have to take the fingerprint again under an older record's version.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "proxy/rules.hpp"

namespace onceward::api {

struct Subject {
  const Operation* operation = nullptr;  // of rules that outlive the request
  std::string name;
  Identity identity;
  std::string key;
  std::string method = {};
  std::string path = {};
  std::string query = {};
  std::string content_type = {};
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // that count
  Duration wait{};
  std::string reference = {};
  bool confirmed = false;  // the caller means another one, whatever it is like
};

// The engine's command for it. Its request's leaves are the subject's, for naming what changed.
onceward::Command command_for(std::shared_ptr<const Subject> subject, const std::string& key_prefix,
                              const std::string& secret);

}  // namespace onceward::api
