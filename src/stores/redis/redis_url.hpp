// What a store's URL says: where the servers are, who we are to them, how long to wait. Pure. Messages
// never contain the password.
//
//   redis://[[user]:password@]host[:port][/db][?option=value&…]       rediss:// the same with TLS
//   redis+sentinel://[[user]:password@]host[:port],…/master-name[/db][?…]
//   redis+cluster://[[user]:password@]host[:port],…[?…]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/tls.hpp"
#include "onceward/executor.hpp"
#include "onceward/result.hpp"

namespace onceward::redis {

enum class Topology { single, sentinel, cluster };

struct Endpoint {
  std::string host;
  std::string port;
  bool operator==(const Endpoint&) const = default;
  auto operator<=>(const Endpoint&) const = default;
};

std::string to_string(const Endpoint& endpoint);

struct Credentials {
  std::string user;  // empty: the default user
  std::string password;
  bool given() const { return !user.empty() || !password.empty(); }
};

struct RedisUrl {
  Topology topology = Topology::single;
  std::vector<Endpoint> endpoints;
  std::string master_name;  // sentinel
  Credentials credentials;
  Credentials sentinel_credentials;
  unsigned database = 0;
  bool use_tls = false;
  net::ClientTls tls;
  std::string prefix = "onceward:";
  Duration timeout{2000};          // of one verb
  Duration connect_timeout{2000};  // of connecting and introducing ourselves
  unsigned wait_replicas = 0;      // that must have a claim or an outcome before it counts
  Duration wait_timeout{1000};
};

// What the URL does not say is as in `defaults`.
Result<RedisUrl> parse_redis_url(std::string_view text, RedisUrl defaults = {});

// For its servers; null: they are spoken to in plain.
Result<net::TlsContext> make_tls(const RedisUrl& url);

}  // namespace onceward::redis
