#include "stores/postgres/connector.hpp"

#include <algorithm>

#include "net/worker.hpp"
#include "stores/postgres/schema.hpp"

namespace onceward::postgres {
namespace {

constexpr Duration pause_first{50};
constexpr Duration pause_longest{3000};
constexpr Duration migration_time{120'000};

// A pooler answers with a process number of its own.
Result<bool> is_pooled(Session& session, MonoTime deadline) {
  const Result<std::string> pid = session.value("SELECT pg_backend_pid()", deadline);
  if (!pid) return pid.error();
  return *pid != std::to_string(PQbackendPID(session.get()));
}

Result<std::string> durability_of(Session& session, bool pooled, MonoTime deadline) {
  const Result<ResultPtr> rows = session.run(
      "SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), "
      "current_setting('fsync'), current_setting('server_encoding')",
      deadline);
  if (!rows) return rows.error();
  const auto column = [&](int at) { return std::string(PQgetvalue(rows->get(), 0, at)); };
  std::string commit = column(0);
  const std::string standbys = column(1);
  if (column(3) != "UTF8")
    return Error{Errc::refused, "the database's encoding is " + column(3) + "; it must be UTF8"};
  if (commit == "off") {
    // An acknowledged claim could be lost in a crash of the server, and its request run twice (I1).
    if (pooled)
      return Error{Errc::refused, "synchronous_commit is off: set it on for this role (ALTER ROLE … SET)"};
    if (const auto set = session.run("SET synchronous_commit = on", deadline); !set) return set.error();
    commit = "on";
  }
  std::string text = column(2) == "on" ? "disk" : "none: fsync is off";
  if (!standbys.empty() && commit != "local") text += ", standby (" + commit + "): " + standbys;
  return text;
}

}  // namespace

Connector::Connector(const PostgresUrl& url, OnConnected connected, OnFailed failed)
    : url_(url),
      connected_(std::move(connected)),
      failed_(std::move(failed)),
      chance_(std::random_device{}()),
      thread_([this] { loop(); }) {}

Connector::~Connector() { stop(); }

void Connector::stop() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  stop_.set();
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Connector::want(Role role, std::size_t slot) {
  {
    std::lock_guard lock(mutex_);
    wishes_.push_back({role, slot});
  }
  changed_.notify_one();
}

void Connector::loop() {
  for (;;) {
    Wish wish;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !wishes_.empty(); });
      if (ending_) return;
      wish = wishes_.front();
      wishes_.pop_front();
    }
    Result<Connected> made = connect(wish);
    if (made) {
      failures_ = 0;
      connected_(std::move(*made));
      continue;
    }
    if (stop_.is_set()) return;
    failed_(made.error());
    want(wish.role, wish.slot);
    if (!pause()) return;
  }
}

// Scattered, so that many proxies do not come back in step. False: it is time to end.
bool Connector::pause() {
  const Duration longest = std::min(pause_first * (1 << std::min(failures_, 10)), pause_longest);
  ++failures_;
  const Duration chosen = longest / 2 + Duration(chance_() % static_cast<unsigned>(longest.count() / 2 + 1));
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, chosen, [this] { return ending_; });
}

Result<Connected> Connector::connect(const Wish& wish) {
  const ConnectionSettings& settings = wish.role == Role::listener ? url_.listener : url_.server;
  std::size_t& first = wish.role == Role::listener ? first_listener_ : first_server_;
  Result<Session> session = Session::connect(settings, stop_, url_.connect_timeout, first);
  if (!session) return session.error();
  const MonoTime deadline = net::Worker::now() + url_.connect_timeout;
  const Result<bool> pooled = is_pooled(*session, deadline);
  if (!pooled) return pooled.error();
  ServerFacts facts{*pooled, ""};
  if (wish.role != Role::listener) {
    Result<std::string> durability = durability_of(*session, *pooled, deadline);
    if (!durability) return durability.error();
    facts.durability = std::move(*durability);
    const auto schema = ensure_schema(*session, url_.migrate, deadline, net::Worker::now() + migration_time);
    if (!schema) return schema.error();
  }
  if (!*pooled) {
    // A little less than we wait ourselves, so that a slow statement ends with an answer.
    const Duration limit = url_.timeout * 9 / 10;
    // A service's own transaction may hold a record's row; whoever else has a verb in this pipeline must not
    // wait for that service. The verb is refused and comes again.
    const Duration lock_limit = url_.timeout / 5;
    const std::string set = "SET statement_timeout = " + std::to_string(limit.count()) +
                            "; SET lock_timeout = " + std::to_string(lock_limit.count()) +
                            "; SET default_transaction_isolation = 'read committed'";
    if (const auto done = session->run(set.c_str(), deadline); !done) return done.error();
  }
  const bool listens = wish.role == Role::listener || (wish.role == Role::chores && !url_.has_own_listener);
  if (listens && url_.listen) {
    if (const Result<Done> done = prepare_listener(*session, *pooled, deadline); !done) return done.error();
  }
  Result<ConnectionPtr> connection = session->into_pipeline();
  if (!connection) return connection.error();
  return Connected{wish.role, wish.slot, std::move(*connection), std::move(facts)};
}

Result<Done> Connector::prepare_listener(Session& session, bool pooled, MonoTime deadline) {
  if (pooled) return Done{};  // a notification would reach whoever has the server's connection then
  const auto done = session.run("LISTEN onceward", deadline);
  return done ? Result<Done>(Done{}) : Result<Done>(done.error());
}

}  // namespace onceward::postgres
