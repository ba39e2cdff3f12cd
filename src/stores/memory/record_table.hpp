// RecordTable: the records of one shard, by scope. A record that may still change is kept as it is; a
// final one, which is nearly all of them, in one small block, as where its encoding differs from another's,
// and nothing of the request that made it stays allocated. Guarded by its shard's mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "onceward/result.hpp"
#include "onceward/values.hpp"
#include "stores/memory/cell_arenas.hpp"
#include "stores/memory/likeness.hpp"
#include "stores/memory/packed_memory.hpp"

namespace onceward::memory {

class RecordTable {
 public:
  // Where the cells are, for who does not hold the mutex; one read without the other, it is a wrong guess.
  // Not in the table, so that those of many tables stand side by side: whoever asks looks at nothing else of
  // them.
  struct Shown {
    std::atomic<const void*> cells = nullptr;
    std::atomic<std::size_t> mask = 0;
  };

  RecordTable(PackedMemory& memory, CellArenas& arenas, std::size_t shard, Shown& shown)
      : memory_(memory), arenas_(arenas), shard_(shard), shown_(shown) {}
  ~RecordTable();
  RecordTable(const RecordTable&) = delete;
  RecordTable& operator=(const RecordTable&) = delete;

  // A record found in the table: where it is, or a copy of what it unpacks to.
  class Found {
   public:
    explicit operator bool() const { return get() != nullptr || error_.has_value(); }
    const Record* get() const { return unpacked_ ? &*unpacked_ : get_; }
    const std::optional<Error>& error() const { return error_; }  // a block that cannot be read (I5)

   private:
    friend class RecordTable;
    const Record* get_ = nullptr;
    std::optional<Record> unpacked_;
    std::optional<Error> error_;
  };

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return bytes_ + likeness_.bytes(); }
  std::size_t open() const { return open_; }

  // Sends for what a search for this scope will look at first. Any thread, without the mutex: what has moved
  // meanwhile is fetched in vain.
  static void fetch_ahead(const Shown& shown, const Scope& scope);
  Found find(const Scope& scope) const;
  void put(Record&& record);
  void remove(const Scope& scope);

  std::vector<Scope> scopes() const;
  std::vector<Scope> scopes_of(std::uint64_t prefix) const;  // usually one

 private:
  class Cell {
   public:
    Cell() = default;
    Cell(std::uint64_t its_prefix, Record* record)
        : prefix(its_prefix), what_(reinterpret_cast<std::uintptr_t>(record)) {}
    Cell(std::uint64_t its_prefix, const char* packed)
        : prefix(its_prefix), what_(reinterpret_cast<std::uintptr_t>(packed) | packed_bit) {}

    bool is_free() const { return what_ == 0; }
    bool is_packed() const { return (what_ & packed_bit) != 0; }
    Record* record() const { return reinterpret_cast<Record*>(what_); }
    char* packed() const { return reinterpret_cast<char*>(what_ & ~packed_bit); }
    std::string_view packed_bytes() const { return {packed(), Likeness::length_of(packed())}; }

    std::uint64_t prefix = 0;

   private:
    static constexpr std::uintptr_t packed_bit = 1;  // no address of either has it
    std::uintptr_t what_ = 0;                        // 0: the cell is free
  };

  std::size_t mask() const { return cells_.size() - 1; }
  static std::size_t place_of(std::uint64_t prefix, std::size_t mask);
  std::size_t place_of(std::uint64_t prefix) const { return place_of(prefix, mask()); }
  static Scope scope_of(const Cell& cell);
  const Cell* find_cell(const Scope& scope) const;
  Cell& cell_for(const Scope& scope);  // the record's, or a free one
  void fill(Cell& cell, Record&& record);
  void empty(Cell& cell);
  std::span<Cell> take_cells(std::size_t count);
  void give_back(std::span<Cell> cells);
  void grow();

  PackedMemory& memory_;
  CellArenas& arenas_;
  const std::size_t shard_;
  Shown& shown_;
  std::span<Cell> cells_;  // a power of two, or none; the arena's
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
  std::size_t open_ = 0;
  Likeness likeness_;
};

}  // namespace onceward::memory
