// Router: which server a command goes to. One connection for a single server or the primary that sentinels
// name; for a cluster one per primary, a map of its slots, and patience with moves. Belongs to the I/O
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "net/wait_list.hpp"
#include "stores/redis/connection.hpp"
#include "stores/redis/crc16.hpp"

namespace onceward::redis {

class Router {
 public:
  Router(net::Worker& worker, TaskGroup& tasks, const RedisUrl& url, SSL_CTX* tls, Purpose purpose,
         std::function<void()> changed);
  ~Router();

  void start();
  void stop();

  // Fills call.reply. Moves are followed; what the server refused for now is Errc::refused.
  Task<> ask(std::uint16_t slot, Call& call);
  // Of the primary of this slot, now.
  Task<> ask_primary(Connection& primary, Call& call);
  // In the order of their first slots; empty while a cluster's map is not known.
  std::vector<Connection*> primaries() const;
  // Any that is connected, or null.
  Connection* any_ready() const;
  // What keeps us from working, or nothing.
  std::optional<Error> trouble() const;
  bool tried() const;  // the first attempt is over, well or not

 private:
  Connection& node(const Endpoint& endpoint);
  Task<Result<Endpoint>> ask_sentinels();
  Task<> keep_map();
  Task<bool> refresh_map();
  bool take_map(const redisReply& reply, const Endpoint& asked);
  void want_map();
  Task<> ask_cluster(std::uint16_t slot, Call& call);
  Task<> follow_ask(const Endpoint& to, Call& call);
  Task<bool> wait_for_map(MonoTime deadline);

  net::Worker& worker_;
  TaskGroup& tasks_;
  const RedisUrl& url_;
  SSL_CTX* tls_;
  const Purpose purpose_;
  std::function<void()> changed_;
  bool stopping_ = false;
  std::unique_ptr<Connection> single_;
  // Cluster. Nodes that left the map are kept until the end: commands may be on their way.
  std::map<Endpoint, std::unique_ptr<Connection>> nodes_;
  std::vector<Connection*> slots_;
  bool has_map_ = false;
  bool map_tried_ = false;
  bool map_wanted_ = true;
  std::string map_failure_;
  net::WaitList map_needed_;
  net::WaitList map_changed_;
};

// What a reply's error means for a command that was not executed.
enum class Refusal { none, moved, ask, try_again, not_now };
struct Redirect {
  Refusal kind = Refusal::none;
  Endpoint to;  // moved, ask; an empty host: the one that said so
};
Redirect redirect_of(const redisReply& reply);

}  // namespace onceward::redis
