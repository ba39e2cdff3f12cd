// Where a broker is and what is asked of it, taken from a URL. Pure. Messages never contain the password.
//
//   amqp://[user[:password]@]host[:port][/vhost][?option=value&…]       amqps:// the same with TLS
//   kafka://[user:password@]host[:port],…[/topic][?…]
//   redis://[[user]:password@]host[:port][/db][?…]                      rediss:// the same with TLS
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/tls.hpp"
#include "onceward/executor.hpp"
#include "onceward/result.hpp"

namespace onceward::messaging {

struct BrokerHost {
  std::string host;  // without brackets
  std::string port;  // empty: the scheme's
  bool operator==(const BrokerHost&) const = default;
};

struct BrokerUrl {
  std::string scheme;
  std::string user;
  std::string password;
  std::vector<BrokerHost> hosts;  // never empty
  std::string path;               // what follows the first slash, decoded
  bool has_path = false;
  std::vector<std::pair<std::string, std::string>> options;  // decoded

  std::optional<std::string> option(std::string_view name) const;
  // What the options ca, cert, key and verify say.
  net::ClientTls tls() const;
  // An error names the first option that is none of these.
  Result<Done> only(std::initializer_list<std::string_view> known) const;
};

Result<BrokerUrl> parse_broker_url(std::string_view text);

// "500ms", "30s", "5m" or "1h".
Result<Duration> duration_option(const BrokerUrl& url, std::string_view name, Duration otherwise);

}  // namespace onceward::messaging
