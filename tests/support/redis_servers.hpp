// A test's own way to a Redis server, past the store: blocking, one command at a time, with hiredis. Follows
// a cluster's redirections.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/scope.hpp"
#include "onceward/values.hpp"
#include "stores/redis/record_fields.hpp"
#include "stores/redis/redis_url.hpp"
#include "stores/redis/resp.hpp"

namespace onceward::testing {

class RedisServers {
 public:
  explicit RedisServers(const std::string& url) {
    const Result<redis::RedisUrl> parsed = redis::parse_redis_url(url);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    seeds_ = parsed->endpoints;
    is_cluster_ = parsed->topology == redis::Topology::cluster;
  }

  // The reply's text, an integer as digits, an array as its last element's text.
  std::string command(const std::vector<std::string>& words) { return text(*ask(seeds_.front(), words, 0)); }

  void flush_all() {
    if (!is_cluster_) {
      command({"FLUSHALL"});
      return;
    }
    const redis::RespReply slots = ask(seeds_.front(), {"CLUSTER", "SLOTS"}, 0);
    for (const redisReply* range : redis::elements_of(*slots)) {
      const auto primary = redis::elements_of(*redis::elements_of(*range)[2]);
      ask({std::string(redis::text_of(*primary[0])), std::to_string(primary[1]->integer)}, {"FLUSHALL"}, 0);
    }
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  static std::string text(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
    if (reply.elements != 0 && reply.type == REDIS_REPLY_ARRAY)
      return text(*reply.element[reply.elements - 1]);
    return std::string(redis::text_of(reply));
  }

  redis::RespReply ask(const redis::Endpoint& at, const std::vector<std::string>& words, int hops) {
    const std::unique_ptr<redisContext, Free> context(redisConnect(at.host.c_str(), std::stoi(at.port)));
    if (!context || context->err || hops > 3) throw std::runtime_error("no connection to " + to_string(at));
    std::vector<const char*> texts;
    std::vector<std::size_t> bytes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      bytes.push_back(word.size());
    }
    redis::RespReply reply(static_cast<redisReply*>(
        redisCommandArgv(context.get(), static_cast<int>(words.size()), texts.data(), bytes.data())));
    if (!reply) throw std::runtime_error(context->errstr);
    const std::string_view error = redis::is_error(*reply) ? redis::text_of(*reply) : std::string_view();
    if (!error.starts_with("MOVED ")) return reply;
    const std::string_view place = error.substr(error.rfind(' ') + 1);
    const std::size_t colon = place.rfind(':');
    return ask({std::string(place.substr(0, colon)), std::string(place.substr(colon + 1))}, words, hops + 1);
  }

  std::vector<redis::Endpoint> seeds_;
  bool is_cluster_ = false;
};

}  // namespace onceward::testing
