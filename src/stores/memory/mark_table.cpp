#include "stores/memory/mark_table.hpp"

#include <algorithm>

namespace onceward::memory {

const MarkEntry* MarkTable::find(const Scope& scope) const {
  const auto found = entries_.find(scope);
  return found == entries_.end() ? nullptr : &found->second;
}

void MarkTable::put(const MarkEntry& entry) {
  entries_.insert_or_assign(entry.scope, entry);
  if (!entry.until) return;
  due_.push_back({*entry.until, entry.scope});
  std::push_heap(due_.begin(), due_.end());
}

void MarkTable::remove(const Scope& scope) { entries_.erase(scope); }

std::size_t MarkTable::purge(Timestamp now, std::size_t count) {
  std::size_t looked_at = 0;
  for (; looked_at < count && !due_.empty() && due_.front().at <= now; ++looked_at) {
    const auto found = entries_.find(due_.front().scope);
    if (found != entries_.end() && found->second.until && *found->second.until <= now) entries_.erase(found);
    std::pop_heap(due_.begin(), due_.end());
    due_.pop_back();
  }
  return looked_at;
}

}  // namespace onceward::memory
