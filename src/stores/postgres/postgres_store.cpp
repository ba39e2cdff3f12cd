#include "stores/postgres/postgres_store.hpp"

#include "core/adoption.hpp"
#include "onceward/outbox_store.hpp"
#include "stores/postgres/chores.hpp"
#include "stores/postgres/outbox.hpp"
#include "stores/postgres/pool.hpp"
#include "stores/postgres/schema.hpp"
#include "stores/postgres/verbs.hpp"

namespace onceward::postgres {
namespace {

constexpr Duration migration_time{600'000};

// Asks the server to notify when the record leaves; nobody waits for the answer.
class WatchErrand final : public Errand {
 public:
  WatchErrand(const Scope& scope, Watches& watches)
      : Errand(watch_statement(scope), true), scope_(scope), watches_(watches) {}
  void answer(const PGresult& result) override { held_ = read_watch(result); }
  void fail(Error) override { held_ = true; }  // the slow poll will find out
  void finish(ReplyBatch&) override {
    if (!held_) watches_.wake(scope_);
  }

 private:
  const Scope scope_;
  Watches& watches_;
  bool held_ = true;
};

class Store final : public PostgresStore, public Adopter, public RecordCounts, OutboxStore {
 public:
  Store(PostgresUrl url, const Clock* clock) : clock_(clock), pool_(std::move(url), watches_) {}

  bool claim(const ClaimRequest& request, Reply<ClaimReply>& reply) override {
    return submit<ClaimReply>(claim_statement(request, now()), false, reply,
                              [&request](const PGresult& result) { return read_claim(result, request); });
  }
  bool dispatch(const Fence& fence, Reply<Record>& reply) override {
    return submit<Record>(dispatch_statement(fence, now()), false, reply, &read_verb);
  }
  bool renew(const RenewRequest& request, Reply<Record>& reply) override {
    return submit<Record>(renew_statement(request, now()), false, reply, &read_verb);
  }
  bool complete(const CompleteRequest& request, Reply<Record>& reply) override {
    return submit<Record>(complete_statement(request, now()), false, reply,
                          [&request](const PGresult& result) { return read_complete(result, request); });
  }
  bool release(const ReleaseRequest& request, Reply<Record>& reply) override {
    return submit<Record>(release_statement(request, now()), false, reply, &read_verb);
  }
  bool unknown(const UnknownRequest& request, Reply<Record>& reply) override {
    return submit<Record>(unknown_statement(request, now()), false, reply, &read_verb);
  }
  bool resolve(const ResolveRequest& request, Reply<Record>& reply) override {
    return submit<Record>(resolve_statement(request, now()), false, reply, &read_verb);
  }
  bool adopt(const Record& copy, Reply<bool>& reply) override {
    return submit<bool>(adopt_statement(copy, now()), false, reply, &read_adopt);
  }
  bool list_marks(const ListMarksRequest& request, Reply<ListMarksReply>& reply) override {
    return submit<ListMarksReply>(list_marks_statement(request, now()), true, reply,
                                  [&request](const PGresult& result) { return read_marks(result, request); });
  }
  bool adopt_mark(const AdoptMarkRequest& request, Reply<bool>& reply) override {
    return submit<bool>(adopt_mark_statement(request, now()), false, reply, &read_adopted_mark);
  }
  std::uint64_t passed_over() const override { return passed_over_; }
  bool lookup(const Scope& scope, Reply<Record>& reply) override {
    return submit<Record>(lookup_statement(scope, now()), false, reply, &read_verb);
  }
  bool lookup(const OperationId& id, Reply<Record>& reply) override {
    return submit<Record>(lookup_statement(id, now()), false, reply, &read_verb);
  }
  bool list(const ListRequest& request, Reply<ListReply>& reply) override {
    return submit<ListReply>(
        list_statement(request, now()), true, reply,
        [this, &request](const PGresult& result) { return read_list(result, request, passed_over_); });
  }
  bool purge(const PurgeRequest& request, Reply<PurgeReply>& reply) override {
    return submit<PurgeReply>(purge_statement(request, now()), true, reply,
                              [&request](const PGresult& result) { return read_purge(result, request); });
  }
  bool count_records(Reply<std::vector<StateCount>>& reply) override {
    return submit<std::vector<StateCount>>(count_statement(now()), true, reply, &read_counts);
  }
  bool stats(Reply<StoreStats>& reply) override {
    return submit<StoreStats>(stats_statement(now()), true, reply, &read_stats);
  }

  void watch(const Scope& scope, std::function<void()> changed) override {
    watches_.add(scope, std::move(changed));
    if (pool_.hears()) pool_.submit(std::make_unique<WatchErrand>(scope, watches_));
  }
  void unwatch(const Scope& scope) override { watches_.remove(scope); }

  bool keeps_marks() const override { return true; }
  OutboxStore* outbox() override { return this; }

  // None of these is on the path of a request.
  bool fetch_events(const FetchEventsRequest& request, Reply<std::vector<PendingEvent>>& reply) override {
    // What cannot be sent takes no place from what can: where there was some, more is asked for.
    std::atomic<std::size_t>& held_up = held_up_[request.partition % outbox_partitions];
    const FetchEventsRequest wider{request.partition, request.limit + 2 * held_up.load()};
    return submit<std::vector<PendingEvent>>(
        fetch_events_statement(wider, now()), true, reply, [&request, &held_up](const PGresult& result) {
          FetchedEvents fetched = read_fetched_events(result, request.limit);
          held_up = fetched.held_up;
          return std::move(fetched.events);
        });
  }
  bool settle_events(const SettleEventsRequest& request, Reply<std::size_t>& reply) override {
    return submit<std::size_t>(settle_events_statement(request, now()), true, reply, &read_settled_events);
  }
  bool list_events(const ListEventsRequest& request, Reply<ListEventsReply>& reply) override {
    return submit<ListEventsReply>(
        list_events_statement(request), true, reply,
        [&request](const PGresult& result) { return read_listed_events(result, request); });
  }
  bool retry_events(const RetryEventsRequest& request, Reply<std::size_t>& reply) override {
    return submit<std::size_t>(retry_events_statement(request, now()), true, reply, &read_retried_events);
  }
  bool outbox_stats(Reply<OutboxStats>& reply) override {
    return submit<OutboxStats>(outbox_stats_statement(), true, reply, &read_outbox_stats);
  }
  bool serves_transactions() const override { return true; }

  Health health() const override {
    const PoolState state = pool_.state();
    return {state.connected, state.durability, state.message};
  }

 private:
  TestTime now() const { return clock_ ? TestTime(clock_->now().time_since_epoch().count()) : std::nullopt; }

  template <class T>
  bool submit(Result<Statement> statement, bool chore, Reply<T>& reply, typename ReplyErrand<T>::Read read) {
    if (!statement) {
      reply.value = statement.error();
      return true;
    }
    pool_.submit(std::make_unique<ReplyErrand<T>>(std::move(*statement), chore, reply, std::move(read)));
    return false;
  }

  const Clock* clock_;
  std::atomic<std::uint64_t> passed_over_{0};
  std::array<std::atomic<std::size_t>, outbox_partitions>
      held_up_{};  // events, when they were last looked at
  Watches watches_;
  Pool pool_;  // last: its thread calls the others
};

}  // namespace

Result<Done> check_postgres_url(const std::string& text) {
  const Result<PostgresUrl> url = parse_postgres_url(text);
  return url ? Result<Done>(Done{}) : Result<Done>(url.error());
}

Result<std::unique_ptr<PostgresStore>> open_postgres(const PostgresOptions& options) {
  Result<PostgresUrl> url = parse_postgres_url(options.url);
  if (!url) return url.error();
  return std::unique_ptr<PostgresStore>(std::make_unique<Store>(std::move(*url), options.clock));
}

Result<std::string> migrate_postgres(const std::string& text) {
  const Result<PostgresUrl> url = parse_postgres_url(text);
  if (!url) return url.error();
  const StopSignal never;
  std::size_t first = 0;
  Result<Session> session = Session::connect(url->server, never, url->connect_timeout, first);
  if (!session) return session.error();
  const Result<SchemaChange> change =
      ensure_schema(*session, true, net::Worker::now() + migration_time, net::Worker::now() + migration_time);
  if (!change) return change.error();
  const std::string after = std::to_string(change->after);
  if (change->before == change->after)
    return url->shown + ": the schema is up to date (version " + after + ")";
  return url->shown + ": the schema went from version " + std::to_string(change->before) + " to " + after;
}

}  // namespace onceward::postgres
