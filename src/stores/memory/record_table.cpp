#include "stores/memory/record_table.hpp"

#include <cstring>
#include <utility>

#include "core/record_codec.hpp"
#include "core/scope.hpp"

namespace onceward::memory {
namespace {

std::size_t bytes_of(const Record& record) {
  std::size_t bytes =
      sizeof(Record) + sizeof(RequestInfo) + record.request->operation.size() + record.request->tenant.size();
  for (const Leaf& leaf : record.request->leaves) bytes += sizeof(Leaf) + leaf.pointer.size();
  return bytes;
}

// Where an encoding's parts begin, if not exactly: the answer's body is the last of them.
std::uint64_t shape_of(const Record& record, const std::string& encoding) {
  const std::size_t body = record.response ? record.response->body.size() : 0;
  const std::size_t headers = record.response ? record.response->headers.size() : 0;
  return (encoding.size() - body) << 32 ^ record.request->operation.size() << 16 ^ headers;
}

// Room that a thread uses again and again; what one large record made of it is not kept.
class Scratch {
 public:
  explicit Scratch(std::string& text) : text_(text) { text_.clear(); }
  ~Scratch() {
    if (text_.capacity() > (std::size_t{1} << 20)) std::string().swap(text_);
  }
  std::string& operator*() { return text_; }

 private:
  std::string& text_;
};

}  // namespace

RecordTable::~RecordTable() {
  for (Cell& cell : cells_) empty(cell);
  give_back(cells_);
}

std::span<RecordTable::Cell> RecordTable::take_cells(std::size_t count) {
  // A cell of nothing but zeros is a free one.
  return {static_cast<Cell*>(arenas_.take(shard_, count * sizeof(Cell))), count};
}

void RecordTable::give_back(std::span<Cell> cells) {
  if (!cells.empty()) arenas_.give_back(cells.size_bytes());
}

std::size_t RecordTable::place_of(std::uint64_t prefix, std::size_t mask) {
  return static_cast<std::size_t>((prefix * 0x9e3779b97f4a7c15ull) >> 20) & mask;
}

void RecordTable::fetch_ahead(const Shown& shown, const Scope& scope) {
  // A number and not a pointer: the two may not belong together. Where nothing is, nothing is fetched.
  const auto cells = reinterpret_cast<std::uintptr_t>(shown.cells.load(std::memory_order_relaxed));
  const std::size_t place = place_of(scope_prefix(scope), shown.mask.load(std::memory_order_relaxed));
  __builtin_prefetch(reinterpret_cast<const void*>(cells + place * sizeof(Cell)), 1);
}

Scope RecordTable::scope_of(const Cell& cell) {
  return cell.is_packed() ? Likeness::scope_of(cell.packed()) : cell.record()->scope;
}

const RecordTable::Cell* RecordTable::find_cell(const Scope& scope) const {
  if (cells_.empty()) return nullptr;
  const std::uint64_t prefix = scope_prefix(scope);
  for (std::size_t at = place_of(prefix); !cells_[at].is_free(); at = (at + 1) & mask())
    if (cells_[at].prefix == prefix && scope_of(cells_[at]) == scope) return &cells_[at];
  return nullptr;
}

RecordTable::Found RecordTable::find(const Scope& scope) const {
  Found found;
  const Cell* cell = find_cell(scope);
  if (!cell) return found;
  if (!cell->is_packed()) {
    found.get_ = cell->record();
    return found;
  }
  thread_local std::string room;
  Scratch encoding(room);
  likeness_.unpack(cell->packed_bytes(), *encoding);
  Result<Record> unpacked = decode_record(*encoding);
  if (unpacked) {
    found.unpacked_.emplace(std::move(*unpacked));
  } else {
    found.error_ = unpacked.error();
  }
  return found;
}

void RecordTable::put(Record&& record) {
  if ((size_ + 1) * 4 > cells_.size() * 3) grow();
  Cell& cell = cell_for(record.scope);
  empty(cell);
  fill(cell, std::move(record));
}

RecordTable::Cell& RecordTable::cell_for(const Scope& scope) {
  const std::uint64_t prefix = scope_prefix(scope);
  std::size_t at = place_of(prefix);
  while (!cells_[at].is_free() && !(cells_[at].prefix == prefix && scope_of(cells_[at]) == scope))
    at = (at + 1) & mask();
  return cells_[at];
}

void RecordTable::fill(Cell& cell, Record&& record) {
  const std::uint64_t prefix = scope_prefix(record.scope);
  if (is_final(record.state)) {
    thread_local std::string encoding_room, packed_room;
    Scratch encoding(encoding_room), packed(packed_room);
    encode_record(record, *encoding);
    likeness_.pack(*encoding, shape_of(record, *encoding), *packed);
    char* const block = memory_.take((*packed).size());
    std::memcpy(block, (*packed).data(), (*packed).size());
    bytes_ += PackedMemory::taken_bytes((*packed).size());
    cell = Cell(prefix, block);
  } else {
    bytes_ += bytes_of(record);
    open_ += record.state == State::released ? 0 : 1;
    cell = Cell(prefix, new Record(std::move(record)));
  }
  bytes_ += sizeof(Cell);
  ++size_;
}

void RecordTable::empty(Cell& cell) {
  if (cell.is_free()) return;
  if (cell.is_packed()) {
    const std::string_view packed = cell.packed_bytes();
    likeness_.forget(packed);
    bytes_ -= PackedMemory::taken_bytes(packed.size());
    memory_.give_back(cell.packed(), packed.size());
  } else {
    open_ -= cell.record()->state == State::released ? 0 : 1;
    bytes_ -= bytes_of(*cell.record());
    delete cell.record();
  }
  bytes_ -= sizeof(Cell);
  --size_;
  cell = {};
}

void RecordTable::remove(const Scope& scope) {
  const Cell* found = find_cell(scope);
  if (!found) return;
  auto hole = static_cast<std::size_t>(found - cells_.data());
  empty(cells_[hole]);
  // What stands behind the hole and could have stood in it moves up, so that no search ends too early.
  for (std::size_t at = (hole + 1) & mask(); !cells_[at].is_free(); at = (at + 1) & mask()) {
    const std::size_t wanted = place_of(cells_[at].prefix);
    if (((at - wanted) & mask()) < ((at - hole) & mask())) continue;
    cells_[hole] = cells_[at];
    cells_[at] = {};
    hole = at;
  }
}

void RecordTable::grow() {
  const std::span<Cell> old = std::exchange(cells_, take_cells(cells_.empty() ? 16 : cells_.size() * 2));
  for (const Cell& cell : old) {
    if (cell.is_free()) continue;
    std::size_t at = place_of(cell.prefix);
    while (!cells_[at].is_free()) at = (at + 1) & mask();
    cells_[at] = cell;
  }
  give_back(old);
  shown_.cells.store(cells_.data(), std::memory_order_relaxed);
  shown_.mask.store(mask(), std::memory_order_relaxed);
}

std::vector<Scope> RecordTable::scopes() const {
  std::vector<Scope> scopes;
  scopes.reserve(size_);
  for (const Cell& cell : cells_)
    if (!cell.is_free()) scopes.push_back(scope_of(cell));
  return scopes;
}

std::vector<Scope> RecordTable::scopes_of(std::uint64_t prefix) const {
  std::vector<Scope> scopes;
  if (cells_.empty()) return scopes;
  for (std::size_t at = place_of(prefix); !cells_[at].is_free(); at = (at + 1) & mask())
    if (cells_[at].prefix == prefix) scopes.push_back(scope_of(cells_[at]));
  return scopes;
}

}  // namespace onceward::memory
