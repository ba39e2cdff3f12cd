#include "stores/redis/router.hpp"

#include <algorithm>

#include "base/await.hpp"

namespace onceward::redis {
namespace {

constexpr Duration map_interval{30'000};
constexpr Duration map_interval_in_trouble{300};
constexpr Duration map_pause{50};
constexpr Duration try_again_pause{20};

MonoTime now() { return net::Worker::now(); }

// The server's word that it did nothing, as a verb's error.
void refuse_if_not_done(Call& call) {
  if (!call.reply || redirect_of(**call.reply).kind == Refusal::none) return;
  call.reply = Error{Errc::refused, std::string(text_of(**call.reply))};
}

}  // namespace

Router::Router(net::Worker& worker, TaskGroup& tasks, const RedisUrl& url, SSL_CTX* tls, Purpose purpose,
               std::function<void()> changed)
    : worker_(worker),
      tasks_(tasks),
      url_(url),
      tls_(tls),
      purpose_(purpose),
      changed_(std::move(changed)),
      map_needed_(worker),
      map_changed_(worker) {
  if (url_.topology == Topology::cluster) {
    slots_.assign(slot_count, nullptr);
    return;
  }
  ConnectionOptions options{
      .url = url_, .tls = tls_, .purpose = purpose_, .find = nullptr, .changed = changed_};
  if (url_.topology == Topology::sentinel) {
    options.find = [this] { return ask_sentinels(); };
  } else {
    options.find = [this]() -> Task<Result<Endpoint>> { co_return url_.endpoints.front(); };
  }
  single_ = std::make_unique<Connection>(worker_, tasks_, std::move(options));
}

Router::~Router() = default;

void Router::start() {
  if (single_) return single_->start();
  for (const Endpoint& seed : url_.endpoints) node(seed);
  tasks_.start(keep_map());
}

void Router::stop() {
  stopping_ = true;
  if (single_) single_->stop();
  for (auto& [endpoint, connection] : nodes_) connection->stop();
  map_needed_.wake_all();
  map_changed_.wake_all();
}

Connection& Router::node(const Endpoint& endpoint) {
  std::unique_ptr<Connection>& found = nodes_[endpoint];
  if (!found) {
    ConnectionOptions options{
        .url = url_, .tls = tls_, .purpose = purpose_, .find = nullptr, .changed = changed_};
    options.find = [endpoint]() -> Task<Result<Endpoint>> { co_return endpoint; };
    options.changed = [this] {
      if (trouble()) map_needed_.wake_all();
      changed_();
    };
    found = std::make_unique<Connection>(worker_, tasks_, std::move(options));
    if (!stopping_) found->start();
  }
  return *found;
}

std::vector<Connection*> Router::primaries() const {
  if (single_) return {single_.get()};
  std::vector<Connection*> found;
  for (Connection* connection : slots_)
    if (connection && std::ranges::find(found, connection) == found.end()) found.push_back(connection);
  return found;
}

Connection* Router::any_ready() const {
  if (single_) return single_->is_ready() ? single_.get() : nullptr;
  for (const auto& [endpoint, connection] : nodes_)
    if (connection->is_ready()) return connection.get();
  return nullptr;
}

std::optional<Error> Router::trouble() const {
  if (!single_ && !has_map_)
    return Error{Errc::unavailable, "the cluster's slots are not known: " + map_failure_};
  for (const Connection* connection : primaries())
    if (!connection->is_ready()) return connection->failure();
  return std::nullopt;
}

bool Router::tried() const {
  if (single_) return single_->tried();
  if (!map_tried_) return false;
  for (const Connection* connection : primaries())
    if (!connection->tried()) return false;
  return true;
}

Task<> Router::ask(std::uint16_t slot, Call& call) {
  if (single_) {
    co_await single_->send(call);
  } else {
    co_await ask_cluster(slot, call);
  }
  refuse_if_not_done(call);
}

Task<> Router::ask_primary(Connection& primary, Call& call) {
  co_await primary.send(call);
  refuse_if_not_done(call);
}

Task<Result<Endpoint>> Router::ask_sentinels() {
  Error last{Errc::unavailable, "no sentinel"};
  for (const Endpoint& sentinel : url_.endpoints) {
    const MonoTime deadline = now() + url_.connect_timeout / 2;
    Link link(worker_, tls_, url_.tls.verify);
    Result<Done> connected = co_await link.connect(sentinel, deadline);
    if (connected) connected = co_await link.introduce(url_.sentinel_credentials, 0, deadline);
    if (!connected) {
      last = connected.error();
      continue;
    }
    std::string command;
    append_command(command, {"SENTINEL", "get-master-addr-by-name", url_.master_name});
    const auto replies = co_await link.exchange(std::move(command), 1, deadline);
    if (!replies) {
      last = replies.error();
      continue;
    }
    const auto place = elements_of(*replies->front());
    if (place.size() == 2)
      co_return Endpoint{std::string(text_of(*place[0])), std::string(text_of(*place[1]))};
    last.message = to_string(sentinel) + ": it knows no master named " + url_.master_name;
  }
  co_return last;
}

// -- a cluster ------------------------------------------------------------------------------------------

void Router::want_map() {
  map_wanted_ = true;
  map_needed_.wake_all();
}

Task<> Router::keep_map() {
  while (!stopping_) {
    // While a primary cannot be reached, another is perhaps taking over.
    if (!map_wanted_)
      (void)co_await map_needed_.wait(now() + (trouble() ? map_interval_in_trouble : map_interval));
    if (stopping_) break;
    map_wanted_ = false;
    const bool refreshed = co_await refresh_map();
    map_tried_ = true;
    changed_();
    map_changed_.wake_all();
    if (!refreshed) map_wanted_ = true;
    // However often moves are reported, the map is not asked for more often than this.
    if (!stopping_) (void)co_await map_changed_.wait(now() + map_pause);
  }
}

Task<bool> Router::refresh_map() {
  std::vector<Connection*> all;
  for (const auto& [endpoint, connection] : nodes_) all.push_back(connection.get());
  for (const bool ready : {true, false}) {
    for (Connection* connection : all) {
      if (connection->is_ready() != ready) continue;
      Call call;
      append_command(call.bytes, {"CLUSTER", "SLOTS"});
      call.deadline = now() + url_.connect_timeout;
      co_await connection->send(call);
      if (!call.reply) {
        map_failure_ = call.reply.error().message;
      } else if (take_map(**call.reply, connection->endpoint())) {
        co_return true;
      }
      if (stopping_) co_return false;
    }
  }
  co_return false;
}

bool Router::take_map(const redisReply& reply, const Endpoint& asked) {
  if (is_error(reply)) map_failure_ = text_of(reply);
  std::vector<Connection*> slots(slot_count, nullptr);
  bool any = false;
  for (const redisReply* range : elements_of(reply)) {
    const auto parts = elements_of(*range);
    if (parts.size() < 3) return false;
    const auto primary = elements_of(*parts[2]);
    if (primary.size() < 2 || parts[0]->integer < 0 || parts[1]->integer >= slot_count) return false;
    std::string host(text_of(*primary[0]));
    if (host.empty()) host = asked.host;
    Connection& connection = node({host, std::to_string(primary[1]->integer)});
    for (long long slot = parts[0]->integer; slot <= parts[1]->integer; ++slot)
      slots[static_cast<std::size_t>(slot)] = &connection;
    any = true;
  }
  if (!any) return false;
  slots_ = std::move(slots);
  has_map_ = true;
  return true;
}

Task<bool> Router::wait_for_map(MonoTime deadline) {
  while (!has_map_ && !stopping_ && !map_tried_)
    if (!co_await map_changed_.wait(deadline)) break;
  co_return has_map_;
}

Task<> Router::ask_cluster(std::uint16_t slot, Call& call) {
  if (!has_map_ && !co_await wait_for_map(call.deadline)) {
    call.reply = Error{Errc::refused, "the cluster's slots are not known: " + map_failure_};
    co_return;
  }
  for (;;) {
    Connection* primary = slots_[slot];
    if (!primary) {
      want_map();
      call.reply = Error{Errc::refused, "no node of the cluster serves the record's slot"};
      co_return;
    }
    call.replies = 1;
    co_await primary->send(call);
    if (!call.reply) {
      want_map();  // perhaps another has taken over
      co_return;
    }
    Redirect redirect = redirect_of(**call.reply);
    if (redirect.to.host.empty()) redirect.to.host = primary->endpoint().host;
    if (redirect.kind == Refusal::ask) {
      co_await follow_ask(redirect.to, call);
      if (!call.reply) co_return;
      redirect = redirect_of(**call.reply);
    } else if (redirect.kind == Refusal::moved) {
      slots_[slot] = &node(redirect.to);
      want_map();
    }
    if (redirect.kind == Refusal::none || redirect.kind == Refusal::not_now || now() >= call.deadline)
      co_return;
    if (redirect.kind == Refusal::try_again) {
      want_map();
      co_await SleepUntil(worker_, now() + try_again_pause);
    }
  }
}

Task<> Router::follow_ask(const Endpoint& to, Call& call) {
  Call asking;
  append_command(asking.bytes, {"ASKING"});
  asking.bytes += call.bytes;
  asking.replies = 2;
  asking.replicated = call.replicated;
  asking.deadline = call.deadline;
  co_await node(to).send(asking);
  call.reply = std::move(asking.reply);
  call.replicas = asking.replicas;
}

}  // namespace onceward::redis
