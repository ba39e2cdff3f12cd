// BulkBoard: how far the bulk requests that this process is working on have come, for whoever asks for their
// operation meanwhile. Shared by all workers; any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "onceward/values.hpp"

namespace onceward {

struct BulkProgress {
  std::size_t total = 0;
  std::size_t done = 0;    // ended for now, however
  std::size_t failed = 0;  // of those: for good
};

class BulkBoard {
 public:
  // One request at work; it is on the board for as long as this lives.
  class Entry {
   public:
    Entry(BulkBoard& board, const OperationId& id, std::size_t total);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    void item_ended(bool failed) {
      if (failed) failed_.fetch_add(1, std::memory_order_relaxed);
      done_.fetch_add(1, std::memory_order_relaxed);
    }
    BulkProgress progress() const {
      return {total_, done_.load(std::memory_order_relaxed), failed_.load(std::memory_order_relaxed)};
    }

   private:
    BulkBoard& board_;
    const OperationId id_;
    const std::size_t total_;
    std::atomic<std::size_t> done_{0};
    std::atomic<std::size_t> failed_{0};
  };

  std::optional<BulkProgress> find(const OperationId& id) const;

 private:
  mutable std::mutex mutex_;
  // More than one when an owner whose lease has ended still works beside the one that took over.
  std::multimap<OperationId, const Entry*> entries_;
};

}  // namespace onceward
