// BlockCache: blocks of memory that a thread was given back and will hand out again, by size. To be used as a
// constinit thread_local: without constructor and destructor, reaching it is one instruction. Whoever fills
// it lets go of it when the thread ends (let_go); what is given back from then on is not kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

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
    Blocks& blocks = blocks_[cls];
    return blocks.count == 0 ? nullptr : blocks.kept[--blocks.count];
  }
  // Blocks of malloc, and no smaller than their class.
  void give_back(void* block, std::size_t cls) {
    Blocks& blocks = blocks_[cls];
    if (blocks.count == Kept || let_go_) return std::free(block);
    blocks.kept[blocks.count++] = block;
  }
  void let_go() {
    let_go_ = true;
    for (Blocks& blocks : blocks_)
      while (blocks.count != 0) std::free(blocks.kept[--blocks.count]);
  }

 private:
  // Beside the blocks and not through them: a block is in no cache when its turn comes, and a list would have
  // to wait for it to learn which is the next. Its user only writes to it, which waits for nothing.
  struct Blocks {
    std::uint32_t count = 0;
    std::array<void*, Kept> kept{};
  };
  std::array<Blocks, classes> blocks_{};
  bool let_go_ = false;
};

}  // namespace onceward
