// OffsetTracker: how far a partition may be committed, when its messages end in any order. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

namespace onceward::messaging {

class OffsetTracker {
 public:
  void begin(std::int64_t offset) {
    open_.insert(offset);
    if (offset >= next_) next_ = offset + 1;
  }
  // The offset to commit: of the first message that must come again if we end now. Nothing: as before.
  std::optional<std::int64_t> end(std::int64_t offset) {
    if (open_.erase(offset) == 0) return std::nullopt;
    const std::int64_t reached = open_.empty() ? next_ : *open_.begin();
    if (reached <= committed_) return std::nullopt;
    committed_ = reached;
    return reached;
  }

 private:
  std::set<std::int64_t> open_;
  std::int64_t next_ = 0;
  std::int64_t committed_ = -1;
};

}  // namespace onceward::messaging
