// The Redis store: one script per verb, each one round trip, decided by the server's clock. For many
// proxies on one server, a primary that sentinels watch, or a cluster. It runs an I/O thread of its own;
// verbs may be called from any thread. docs/stores.md says what a failover of Redis can lose.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "onceward/store.hpp"

namespace onceward::redis {

struct RedisHealth {
  bool ready = false;
  std::string durability;  // "aof everysec, 1 replica waited for"
  std::string message;     // what is wrong, or worth a warning
};

class RedisStore : public Store {
 public:
  virtual RedisHealth health() const = 0;
};

struct RedisOptions {
  std::string_view url;
  // Tests decide by a clock of their own; null: the server's.
  const Clock* clock = nullptr;
  // How long opening waits for the first connection. A server that does not answer by then is not an error.
  Duration first_wait{3000};
};

// Errc::invalid: the URL cannot be understood. Contacts nobody.
Result<Done> check_redis_url(std::string_view url);

// Errc::invalid: the URL, a certificate or the server's eviction policy make it unusable.
Result<std::unique_ptr<RedisStore>> open_redis(const RedisOptions& options);

}  // namespace onceward::redis
