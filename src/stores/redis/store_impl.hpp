// The inside of the Redis store. A verb is handed to the I/O thread and runs there as a coroutine; members
// without a lock belong to that thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "core/adoption.hpp"
#include "net/tls.hpp"
#include "onceward/outbox_store.hpp"
#include "stores/redis/io_thread.hpp"
#include "stores/redis/record_fields.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/script.hpp"
#include "stores/redis/subscriber.hpp"

namespace onceward::redis {

// Lua counts exactly up to 2^53, and a time is added to it.
inline Duration within_bounds(Duration duration) {
  constexpr Duration longest{100'000'000'000'000};
  return std::clamp(duration, Duration{}, longest);
}

// A script's ARGV: what is long is only pointed at.
class Arguments {
 public:
  Arguments() = default;
  Arguments(Arguments&&) = default;  // what it points at moves along; a copy would point at the original
  Arguments& add(std::string_view text) { return views_.push_back(text), *this; }
  Arguments& add(const char* text) { return add(std::string_view(text)); }
  Arguments& add(std::string&& text) { return add(std::string_view(owned_.emplace_back(std::move(text)))); }
  Arguments& add(std::uint64_t number) { return add(std::to_string(number)); }
  Arguments& add(Duration duration);
  Arguments& add(bool yes) { return add(std::string_view(yes ? "yes" : "no")); }
  Arguments& add(const std::shared_ptr<const Response>& response);
  Arguments& add(const Fence& fence);
  Arguments& add(const std::shared_ptr<const OperationResult>& result);
  Arguments& add(const std::shared_ptr<const Events>& events);
  Arguments& add(const std::vector<Mark>& marks);
  std::span<const std::string_view> views() const { return views_; }

 private:
  std::vector<std::string_view> views_;
  std::deque<std::string> owned_;
};

struct Answer {
  RespReply reply;
  bool replicated = true;  // to as many as were asked for
};

// Where a scan of all records stands.
struct ScanPosition {
  std::size_t primary = 0;
  std::string scan = "0";
  std::string after;  // keys up to this one of the batch were done
};
std::string to_cursor(const ScanPosition& position);
std::optional<ScanPosition> from_cursor(std::string_view text);

class StoreImpl final : public RedisStore, public Adopter, OutboxStore {
 public:
  StoreImpl(RedisUrl url, net::TlsContext tls, const Clock* clock);
  ~StoreImpl() override;

  // Waits for the first attempt to connect; Errc::invalid when the server can never do.
  Result<Done> start(Duration wait);

  bool claim(const ClaimRequest&, Reply<ClaimReply>&) override;
  bool dispatch(const Fence&, Reply<Record>&) override;
  bool renew(const RenewRequest&, Reply<Record>&) override;
  bool complete(const CompleteRequest&, Reply<Record>&) override;
  bool release(const ReleaseRequest&, Reply<Record>&) override;
  bool unknown(const UnknownRequest&, Reply<Record>&) override;
  bool resolve(const ResolveRequest&, Reply<Record>&) override;
  bool adopt(const Record&, Reply<bool>&) override;
  bool list_marks(const ListMarksRequest&, Reply<ListMarksReply>&) override;
  bool adopt_mark(const AdoptMarkRequest&, Reply<bool>&) override;
  std::uint64_t passed_over() const override { return passed_over_; }
  bool lookup(const Scope&, Reply<Record>&) override;
  bool lookup(const OperationId&, Reply<Record>&) override;
  bool list(const ListRequest&, Reply<ListReply>&) override;
  bool purge(const PurgeRequest&, Reply<PurgeReply>&) override;
  bool stats(Reply<StoreStats>&) override;
  void watch(const Scope&, std::function<void()> changed) override;
  void unwatch(const Scope&) override;
  RedisHealth health() const override;

  // A cluster has a record's marks and events on other servers than the record.
  bool keeps_marks() const override { return url_.topology != Topology::cluster; }
  OutboxStore* outbox() override { return keeps_marks() ? this : nullptr; }
  bool fetch_events(const FetchEventsRequest&, Reply<std::vector<PendingEvent>>&) override;
  bool settle_events(const SettleEventsRequest&, Reply<std::size_t>&) override;
  bool list_events(const ListEventsRequest&, Reply<ListEventsReply>&) override;
  bool retry_events(const RetryEventsRequest&, Reply<std::size_t>&) override;
  bool outbox_stats(Reply<OutboxStats>&) override;

 private:
  template <class T, class Make>
  bool begin(Reply<T>& reply, Make make) {
    io_.ask(reply, std::move(make));
    return false;
  }

  Task<Result<ClaimReply>> do_claim(const ClaimRequest& request);
  Task<Result<Record>> do_complete(const CompleteRequest& request);
  Task<Result<Record>> do_release(const ReleaseRequest& request);
  Task<Result<Record>> do_resolve(const ResolveRequest& request);
  Task<Result<Record>> do_fenced(const Script& script, const Fence& fence, Arguments arguments);
  Task<Result<bool>> do_adopt(const Record& copy);
  Task<Result<bool>> do_adopt_mark(const AdoptMarkRequest& request);
  Task<Result<bool>> run_adoption(const Script& script, const Scope& scope, const Arguments& arguments);
  Task<Result<ListMarksReply>> do_list_marks(const ListMarksRequest& request);
  Task<Result<Record>> do_lookup(std::string key, std::string scope, std::string operation_id);
  struct Listed {
    std::string tag;  // of its key, behind the prefix
    Record record;
  };
  Task<Result<std::vector<Listed>>> list_chunk(const ListRequest& request, Connection& primary,
                                               std::string& cursor, std::size_t count);
  Task<Result<ListReply>> do_list(const ListRequest& request);
  Task<Result<PurgeReply>> do_purge(const PurgeRequest& request);
  Task<Result<PurgeReply>> sweep(const PurgeRequest& request);
  Task<Result<PurgeReply>> purge_step(const PurgeRequest& request, ScanPosition& position);
  Task<Result<StoreStats>> do_stats();
  Task<Result<std::vector<PendingEvent>>> do_fetch(const FetchEventsRequest& request);
  Task<Result<std::size_t>> do_settle(const SettleEventsRequest& request);
  Task<Result<ListEventsReply>> do_list(const ListEventsRequest& request);
  Task<Result<std::size_t>> do_retry(const RetryEventsRequest& request);
  Task<Result<OutboxStats>> do_outbox_stats();

  Arguments outbox_arguments() const;
  std::string outbox_key() const { return url_.prefix + "outbox:sequence"; }
  // Begins the arguments of any script of a record.
  Arguments arguments_for(std::string_view scope_hex) const;
  Task<Result<Answer>> run(const Script& script, const std::string& key, const Arguments& arguments,
                           bool replicated = false);
  // One script for many records of one server, in one round trip.
  Task<Result<std::vector<RespReply>>> run_all(Connection& primary, const Script& script,
                                               const std::vector<std::string>& keys,
                                               const Arguments& arguments);
  Task<Result<std::vector<std::string>>> scan(Connection& primary, std::string& cursor, std::size_t count,
                                              const std::string& pattern);
  MonoTime deadline() const { return net::Worker::now() + url_.timeout; }
  void note_health();

  const RedisUrl url_;
  const net::TlsContext tls_;
  const Clock* clock_;
  const std::string pattern_;       // of all records' keys
  const std::string mark_pattern_;  // of all marks' keys
  IoThread io_;
  Router router_;
  Subscriber subscriber_;

  std::atomic<std::uint64_t> passed_over_{0};  // any thread reads it
  bool receipts_ = false;                      // records with a receipt_ttl have been claimed here
  ScanPosition sweep_;                         // where the last sweep stopped

  mutable std::mutex health_mutex_;
  RedisHealth health_;                   // guarded by health_mutex_
  std::optional<Error> trouble_;         // guarded by health_mutex_
  bool tried_ = false;                   // guarded by health_mutex_
  std::condition_variable health_told_;  // when tried_ changes
};

std::string_view word_of(const redisReply& reply);  // the first of a script's reply
// What a script's reply says.
Result<Record> record_in(const redisReply& reply, Bodies bodies,
                         const std::shared_ptr<const Response>& response = nullptr);

}  // namespace onceward::redis
