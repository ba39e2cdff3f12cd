// The embedded store's inside. Verbs decide on the caller's thread, in the scope's shard; whoever has the
// log's turn makes their writes true; the housekeeper's thread lists, counts and purges.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <set>
#include <thread>

#include "core/adoption.hpp"
#include "stores/embedded/embedded_store.hpp"
#include "stores/embedded/folder.hpp"
#include "stores/embedded/log_writer.hpp"
#include "stores/embedded/pending_events.hpp"
#include "stores/embedded/recovery.hpp"
#include "stores/embedded/shard.hpp"
#include "stores/embedded/store_time.hpp"
#include "stores/embedded/wide_view.hpp"

namespace onceward::embedded {

class StoreImpl final : public EmbeddedStore, public Adopter, OutboxStore, LogWriter::Client {
 public:
  StoreImpl(const EmbeddedOptions& options, FileOps& ops, Entered entered, Recovered recovered,
            LogPosition position);
  ~StoreImpl() override;

  bool claim(const ClaimRequest&, Reply<ClaimReply>&) override;
  void expect(const Scope&) override;
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
  Health health() const override;
  LogFigures figures() const override;
  bool keeps_marks() const override { return true; }
  OutboxStore* outbox() override { return this; }
  bool fetch_events(const FetchEventsRequest&, Reply<std::vector<PendingEvent>>&) override;
  bool settle_events(const SettleEventsRequest&, Reply<std::size_t>&) override;
  bool list_events(const ListEventsRequest&, Reply<ListEventsReply>&) override;
  bool retry_events(const RetryEventsRequest&, Reply<std::size_t>&) override;
  bool outbox_stats(Reply<OutboxStats>&) override;

 private:
  static constexpr std::size_t shard_count = 16;

  // verbs (store_verbs.cpp)
  Shard& shard_of(std::uint64_t prefix) { return shards_[shard_number(prefix, shard_count)]; }
  const Shard& shard_of(std::uint64_t prefix) const { return shards_[shard_number(prefix, shard_count)]; }
  template <class Event, class T>
  bool decide(Verb verb, const Scope& scope, const Event& event, Reply<T>& reply);
  template <class StepT, class T>
  bool apply(Shard& shard, std::unique_lock<std::mutex>& lock, StepT step, bool existed,
             const RequestInfo* claimed, Reply<T>& reply);
  bool run_again(const Waiter& waiter);
  std::optional<Error> refuses_claims(const RequestInfo& request) const;

  // verbs that change more than a record (store_wide.cpp, store_outbox.cpp)
  bool claim_marked(const ClaimRequest& request, Reply<ClaimReply>& reply);
  template <class Event, class T>
  bool decide_wide(Verb verb, const Scope& scope, const Event& event, Reply<T>& reply);
  using Parts = std::vector<std::unique_ptr<Write>>;
  template <class Event>
  void add_marks(const WideView& view, const Event& event, const Record& next, Timestamp now, Parts& parts);
  void add_events(const Record& next, const Events& events, Timestamp now, Parts& parts);
  static std::unique_ptr<Write> event_write(const PendingEvent& event);
  void submit_wide(WideView& view, std::unique_ptr<Write> write);
  bool submit_settled(WideView& view, Parts parts, Reply<std::size_t>& reply);
  std::optional<PendingEvent> read_event(const PendingEvents::Ref& ref);

  // the calls of whoever has the log's turn (store_commit.cpp)
  void rolled(const SegmentPtr& fresh, const IndexSummary& old) override;
  void committed(Write* first) override;
  void publish(Shard& shard, Write& write, std::vector<Waiter>& waiting);
  void failed(Write* first, const Error& error) override;
  void stopped(const Error& why) override;
  void resumed() override;
  void seal_waiting();
  bool seal(const SegmentPtr& segment, const IndexSummary& summary);
  void adopt(Recovered recovered);
  void end_leases(std::vector<Record> open);
  void queue_seal(SegmentPtr segment, const IndexSummary& summary);

  // one table for the filters of many segments (store_group.cpp)
  struct Grouping {
    SealedList::Run run;
    std::shared_ptr<SegmentTable> table;
    std::size_t next = 0;  // of its segments
  };
  void group_segments();
  static bool add_prefixes(const Sealed& sealed, std::size_t number, SegmentTable& table);

  // housekeeping (store_list.cpp, store_purge.cpp)
  struct Found {
    Scope scope;
    Result<Record> record;
  };
  void keep_house();
  void in_background(std::function<void()> job);
  enum class Which : std::uint8_t { all, open, kept_marks };
  std::vector<std::uint64_t> prefixes_from(std::uint64_t first, std::size_t count, Which which);
  void mend_index(const IndexReader& reader);
  std::vector<Found> current_of(std::uint64_t prefix) const;
  // Shows what is behind the cursor, as stored; `take` says false when it has no room for one more. Replies
  // the cursor to go on with.
  Result<std::string> walk_page(const std::string& cursor, Which which,
                                const std::function<bool(const Record&)>& take);
  Result<ListReply> list_now(const ListRequest& request);
  Result<ListMarksReply> list_marks_now(const ListMarksRequest& request);
  Result<PurgeReply> purge_now(const PurgeRequest& request);
  Result<PurgeReply> purge_everywhere(const PurgeRequest& request, Timestamp now);
  Result<PurgeReply> purge_recent(const PurgeRequest& request, Timestamp now);
  Result<PurgeReply> purge_oldest(const PurgeRequest& request, Timestamp now);
  enum class Tried { left, purged, moved };  // moved: elsewhere or changed meanwhile
  bool purge_one(const Scope& scope, const PurgeRequest& request, Timestamp now, WriteGroup& group,
                 PurgeReply& reply);
  Tried try_purge_one(const Scope& scope, const PurgeRequest& request, Timestamp now, WriteGroup& group,
                      PurgeReply& reply);
  struct Cleaning;
  bool clean_entry(Cleaning& cleaning, const IndexEntry& entry);
  bool copy_forward(Cleaning& cleaning, Record record);
  bool is_in_newer(const SealedList& list, const Sealed& than, const Scope& scope, bool& certain) const;
  bool is_wholly_gone(const Sealed& sealed, Timestamp now) const;
  bool is_worth_cleaning(const SealedList& list, IndexReader& index, Timestamp now) const;
  Result<PurgeReply> count_gone(const SealedPtr& oldest, std::size_t blocks);
  bool goes_with(std::shared_ptr<const SealedList>& list, const Sealed& oldest, std::uint64_t prefix);
  void give_up(const SealedPtr& sealed, std::uint64_t removed);
  void start_write(Shard& shard, std::unique_lock<std::mutex>& lock, std::unique_ptr<Write> write,
                   WriteGroup& group);
  StoreStats stats_now();
  std::shared_ptr<const SealedList> sealed_list() const;
  std::shared_ptr<const SealedList> installed_list();
  void install(std::shared_ptr<const SealedList> list);

  FileOps& ops_;
  const std::string folder_;
  const Durability durability_;
  const Entered entered_;
  mutable StoreTime time_;
  std::array<Shard, shard_count> shards_;
  PendingEvents events_;
  SegmentSupply supply_;
  LogWriter writer_;

  std::mutex list_mutex_;  // held while the list of sealed segments is being changed
  mutable std::mutex health_mutex_;
  std::string stopped_message_;
  std::vector<std::unique_ptr<Write>> limbo_;                // the log's thread: not known whether written
  std::deque<std::pair<SegmentPtr, IndexSummary>> to_seal_;  // the supply's thread; oldest first
  std::optional<Grouping> grouping_;                         // the supply's thread

  struct Counting {  // the housekeeper's thread: how far the oldest segment has been counted out
    SegmentId segment = 0;
    std::size_t block = 0;
    std::uint64_t removed = 0;
  };
  Counting counting_;
  std::set<SegmentId> mended_;  // the housekeeper's thread: whose damaged index file was written anew

  std::mutex house_mutex_;
  std::condition_variable house_wake_;
  std::deque<std::function<void()>> house_jobs_;
  bool house_closing_ = false;
  std::thread house_;

  std::atomic<std::uint64_t> passed_over_{0};  // unreadable records that a list met
};

}  // namespace onceward::embedded
