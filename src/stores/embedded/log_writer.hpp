// LogWriter: group commit. Whoever has the turn takes all writes that wait, puts them into the active segment
// with one synced write, and hands them on as true. Usually that is a worker: one that finds the log idle
// takes the turn, begins the write, goes on with its events and hears of the end among them; then it goes on
// with what has come meanwhile, or gives the turn to a worker that has some of it, or back. Each has a verb
// of its own in what it writes, so it is there when it ends. What may wait longer than a write (the next
// segment, a failed write, a system without rings) is for the writer's own thread, to which the turn is given
// then. Owned by the store, which is told by Client calls of whoever has the turn.
//
// A failed write or sync is never repeated on the same file, for the system may since have dropped the
// pages and report success. The writer stops, begins a fresh segment whose header says how much of the
// old one counts, and goes on only when that header is on disk: from then on the lost batch never was.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "stores/embedded/block_writer.hpp"
#include "stores/embedded/rounds.hpp"
#include "stores/embedded/segment_supply.hpp"
#include "stores/embedded/write_queue.hpp"

namespace onceward::embedded {

struct LogPosition {
  SegmentPtr segment;     // the active one
  std::uint64_t end = 0;  // where the next batch goes
  std::uint64_t capacity = 0;
  std::uint64_t sequence = 0;
  std::uint64_t records = 0;
};

class LogWriter final : Rounds::Client {
 public:
  class Client {
   public:
    virtual ~Client() = default;
    // `fresh` takes the writes from now on; the old segment ends as `old` says.
    virtual void rolled(const SegmentPtr& fresh, const IndexSummary& old) = 0;
    virtual void committed(Write* first) = 0;
    // Nothing was written of these (Errc::refused), or it is not known (Errc::unavailable).
    virtual void failed(Write* first, const Error& error) = 0;
    // A sync failed: until `resumed` nobody may be told anything.
    virtual void stopped(const Error& why) = 0;
    virtual void resumed() = 0;
  };

  LogWriter(Client& client, FileOps& ops, SegmentSupply& supply, std::string folder, LogPosition position,
            bool synced, std::uint64_t segment_bytes, std::function<Timestamp()> now);
  ~LogWriter();

  void start();
  // Writes what is queued, then a closing batch, and ends the thread.
  void close();

  void submit(Write* write);  // any thread
  // Records that went with their segment; counted in the next batch.
  void count_removed(std::uint64_t records) { removed_unwritten_ += static_cast<std::int64_t>(records); }

  std::uint64_t records() const {
    const std::int64_t removed = removed_unwritten_.load();
    const auto written = static_cast<std::int64_t>(records_.load(std::memory_order_relaxed));
    return written > removed ? static_cast<std::uint64_t>(written - removed) : 0;
  }
  std::uint64_t active_bytes() const { return end_shown_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  std::uint64_t batches() const { return sequence_shown_.load(std::memory_order_relaxed); }

  // The segment after `previous`, made of `file`: header, sync, name, sync of the folder.
  static Result<SegmentPtr> begin_segment(FileOps& ops, const std::string& folder, File file,
                                          const SegmentHeader& header, bool synced);

 private:
  // Who has the turn, and how it goes on (log_turns.cpp).
  void hand_over(OwnRing& own, Write* newest, Write* oldest) override;
  void on_turn(OwnRing& own) override;
  void on_end(OwnRing& own, bool wait) override;
  void go_on(OwnRing* here);
  void pass_on(Write* list, OwnRing* here);
  OwnRing* who_can_begin(const Write* list, OwnRing* here);
  bool is_usual(const Write* list) const;
  bool give_away(Write* list);
  void loop();
  bool work();
  void sleep(bool has_turn);
  void wake();

  // What is written, by whoever has the turn.
  void commit(Write* list);
  Write* refuse_claims(Write* list, const Error& why);
  Write* take_fitting(Write*& list);
  bool claims_have_room() const;
  void prepare(Write* chunk, bool closing);
  bool begin_batch(Write* chunk, OwnRing& own);
  bool write_batch(Write* chunk, bool closing);
  bool finish(const Result<Done>& written);
  Result<Done> leave_plain_format();
  Result<Done> roll(std::uint64_t bytes_needed);
  void stop(const Error& why);
  void try_resume();
  std::uint64_t room() const;

  static constexpr std::uint64_t batch_bytes_max = 4 << 20;

  Client& client_;
  FileOps& ops_;
  SegmentSupply& supply_;
  const std::string folder_;
  const bool synced_;
  const std::uint64_t segment_bytes_;
  const std::function<Timestamp()> now_;

  // For whoever has the turn.
  LogPosition at_;
  Timestamp written_at_{};
  struct Batch {  // the one being written; its bytes are in buffer_
    Write* first = nullptr;
    BatchHeader header;
    bool plain = true;
    std::int64_t removed = 0;
  } batch_;
  std::string buffer_;
  BlockWriter blocks_;
  std::optional<Error> stopped_;
  Write* given_ = nullptr;             // goes with the turn: what is to be written next
  std::optional<std::int64_t> ended_;  // too: how a worker's write ended that did not end well

  std::atomic<std::int64_t> removed_unwritten_{0};
  std::atomic<std::uint64_t> records_;
  std::atomic<std::uint64_t> end_shown_;
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> sequence_shown_{0};

  WriteQueue queue_;
  std::atomic<bool> idle_ = false;  // nobody has the turn: whoever clears it has
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;  // guarded by mutex_: the thread was given the turn
  std::thread thread_;
  Rounds rounds_{*this};  // last: whoever is told of an end may still look at the others
};

}  // namespace onceward::embedded
