// BlockCache: blocks of memory that a thread was given back and will hand out again, by size. To be used as a
// constinit thread_local: without constructor and destructor, reaching it is one instruction. Whoever fills
// it lets go of it when the thread ends (let_go); what is given back from then on is not kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace onceward {

// Classes of `Step` bytes each, up to `Largest`; of each, `Kept` blocks at the most.
template <std::size_t Step, std::size_t Largest, std::uint32_t Kept>
class BlockCache {
 public:
  static constexpr std::size_t classes = Largest / Step;
  // Of 1 to Largest bytes; blocks of class c have (c + 1) * Step.
  static constexpr std::size_t class_of(std::size_t bytes) { return (bytes - 1) / Step; }
  static constexpr std::size_t class_bytes(std::size_t cls) { return (cls + 1) * Step; }

  void* take(std::size_t cls) {  // null: there is none
    Free* const block = first_[cls];
    if (!block) return nullptr;
    first_[cls] = block->next;
    --count_[cls];
    return block;
  }
  // Blocks of malloc, and no smaller than their class.
  void give_back(void* block, std::size_t cls) {
    if (count_[cls] >= Kept) return std::free(block);
    first_[cls] = new (block) Free{first_[cls]};
    ++count_[cls];
  }
  void let_go() {
    for (Free*& first : first_)
      while (first) std::free(std::exchange(first, first->next));
    count_.fill(Kept);
  }

 private:
  struct Free {
    Free* next;
  };
  std::array<Free*, classes> first_{};
  std::array<std::uint32_t, classes> count_{};
};

}  // namespace onceward
