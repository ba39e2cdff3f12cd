#include "proxy/bulk_board.hpp"

namespace onceward {

BulkBoard::Entry::Entry(BulkBoard& board, const OperationId& id, std::size_t total)
    : board_(board), id_(id), total_(total) {
  std::lock_guard lock(board_.mutex_);
  board_.entries_.emplace(id_, this);
}

BulkBoard::Entry::~Entry() {
  std::lock_guard lock(board_.mutex_);
  const auto [first, last] = board_.entries_.equal_range(id_);
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second != this) continue;
    board_.entries_.erase(entry);
    return;
  }
}

std::optional<BulkProgress> BulkBoard::find(const OperationId& id) const {
  std::lock_guard lock(mutex_);
  const auto [first, last] = entries_.equal_range(id);
  if (first == last) return std::nullopt;
  return std::prev(last)->second->progress();  // the latest
}

}  // namespace onceward
