#include "stores/embedded/sealed_index.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "core/crc32c.hpp"

namespace onceward::embedded {
namespace {

constexpr char magic[9] = "ONCEWIDX";
constexpr std::uint32_t index_version = 1;
constexpr std::size_t header_bytes = 128;
constexpr std::size_t block_header_bytes = 8;

// 0 magic, 8 version, 12 checksum of the header's rest and of everything before the blocks, 16 segment,
// 24 data end, 32 sequence, 40 records, 48 written_at, 56 entries, 64 last_gone_at, 72 open entries,
// 80 blocks, 88 filter bytes, 96 removals
struct Layout {
  std::uint64_t open = 0;
  std::uint64_t blocks = 0;
  std::uint64_t filter_bytes = 0;

  std::uint64_t front_bytes() const {
    return open * SealedIndex::entry_bytes + blocks * sizeof(std::uint64_t) + filter_bytes;
  }
  std::uint64_t blocks_at() const {
    const std::uint64_t end = header_bytes + front_bytes();
    return (end + SealedIndex::block_bytes - 1) / SealedIndex::block_bytes * SealedIndex::block_bytes;
  }
};

std::uint64_t count_of(Timestamp time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }
Timestamp time_of(std::uint64_t count) { return Timestamp(Duration(static_cast<std::int64_t>(count))); }

void put_entry(const IndexEntry& entry, std::string& out) {
  char bytes[SealedIndex::entry_bytes] = {};
  put_u64(bytes, entry.prefix);
  put_u64(bytes + 8, count_of(entry.gone_at));
  put_u32(bytes + 16, entry.offset);
  put_u32(bytes + 20, entry.payload_bytes);
  bytes[24] = static_cast<char>(entry.state);
  put_u32(bytes + 28, entry.expires_s);
  out.append(bytes, sizeof bytes);
}

IndexEntry get_entry(const char* at) {
  IndexEntry entry;
  entry.prefix = get_u64(at);
  entry.gone_at = time_of(get_u64(at + 8));
  entry.offset = get_u32(at + 16);
  entry.payload_bytes = get_u32(at + 20);
  entry.state = static_cast<std::uint8_t>(at[24]);
  entry.expires_s = get_u32(at + 28);
  return entry;
}

std::string encode_header(const IndexSummary& summary, const Layout& layout, std::string_view front) {
  std::string bytes(header_bytes, '\0');
  char* at = bytes.data();
  std::memcpy(at, magic, 8);
  put_u32(at + 8, index_version);
  put_u64(at + 16, summary.segment);
  put_u64(at + 24, summary.data_end);
  put_u64(at + 32, summary.sequence);
  put_u64(at + 40, summary.records);
  put_u64(at + 48, count_of(summary.written_at));
  put_u64(at + 56, summary.entries);
  put_u64(at + 64, count_of(summary.last_gone_at));
  put_u64(at + 72, layout.open);
  put_u64(at + 80, layout.blocks);
  put_u64(at + 88, layout.filter_bytes);
  put_u64(at + 96, summary.removals);
  put_u32(at + 12, crc32c(front, crc32c(std::string_view(bytes).substr(16))));
  return bytes;
}

std::string encode_block(const IndexEntry* first, std::size_t count) {
  std::string block(block_header_bytes, '\0');
  for (std::size_t i = 0; i < count; ++i) put_entry(first[i], block);
  block.resize(SealedIndex::block_bytes, '\0');
  put_u32(block.data() + 4, static_cast<std::uint32_t>(count));
  put_u32(block.data(), crc32c(std::string_view(block).substr(4)));
  return block;
}

std::string encode_index(IndexSummary& summary, std::vector<IndexEntry>& entries) {
  std::sort(entries.begin(), entries.end(), comes_before);
  Layout layout;
  layout.blocks = (entries.size() + SealedIndex::block_entries - 1) / SealedIndex::block_entries;
  Filter filter(entries.size());
  std::string front;
  for (const IndexEntry& entry : entries) {
    filter.add(entry.prefix);
    if (entry.state == removed_state) ++summary.removals;
    if (entry.gone_at != Timestamp::max())
      summary.last_gone_at = std::max(summary.last_gone_at, entry.gone_at);
    if (!entry.is_open() && entry.state != damaged_state) continue;
    put_entry(entry, front);
    ++layout.open;
  }
  for (std::size_t i = 0; i < entries.size(); i += SealedIndex::block_entries) {
    char first[8];
    put_u64(first, entries[i].prefix);
    front.append(first, sizeof first);
  }
  layout.filter_bytes = filter.bytes().size();
  front.append(filter.bytes());
  summary.entries = entries.size();
  std::string file = encode_header(summary, layout, front) + front;
  file.resize(layout.blocks_at(), '\0');
  for (std::size_t i = 0; i < entries.size(); i += SealedIndex::block_entries) {
    file += encode_block(&entries[i], std::min(SealedIndex::block_entries, entries.size() - i));
  }
  return file;
}

Error damaged(const std::string& path) { return {Errc::unreadable, path + " is damaged"}; }

}  // namespace

std::uint32_t seconds_up(Timestamp time) {
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(time).time_since_epoch().count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, ~std::uint32_t{0}));
}

bool is_open_state(std::uint8_t state) {
  return state == held_mark_state || state == event_state ||
         state == static_cast<std::uint8_t>(State::claimed) ||
         state == static_cast<std::uint8_t>(State::processing) ||
         state == static_cast<std::uint8_t>(State::unknown);
}

bool IndexEntry::is_open() const { return is_open_state(state); }

bool IndexEntry::is_record() const {
  return state != removed_state && state != held_mark_state && state != kept_mark_state &&
         state != event_state;
}

Result<Done> SealedIndex::write(FileOps& ops, const std::string& path, IndexSummary summary,
                                std::vector<IndexEntry> entries) {
  const std::string bytes = encode_index(summary, entries);
  const std::string temporary = path + ".new";
  {
    Result<File> file = File::open(ops, temporary, O_RDWR | O_CREAT | O_TRUNC);
    if (!file) return file.error();
    if (Result<Done> written = file->write_gently(bytes, 0); !written) return written;
    if (Result<Done> synced = file->sync(); !synced) return synced;
  }
  if (const int result = ops.rename(temporary, path); result < 0)
    return file_error("rename " + temporary, result);
  return Done{};
}

Result<SealedIndex> SealedIndex::open(FileOps& ops, const std::string& path, SegmentId segment) {
  Result<File> file = File::open(ops, path, O_RDONLY);
  if (!file) return file.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  if (*size < header_bytes) return damaged(path);
  const Result<std::string> header = file->read(header_bytes, 0);
  if (!header) return header.error();
  const char* at = header->data();
  if (std::memcmp(at, magic, 8) != 0 || get_u32(at + 8) != index_version || get_u64(at + 16) != segment) {
    return damaged(path);
  }
  const Layout layout{get_u64(at + 72), get_u64(at + 80), get_u64(at + 88)};
  if (layout.open > *size || layout.blocks > *size || layout.filter_bytes > *size) return damaged(path);
  if (layout.blocks_at() + layout.blocks * block_bytes != *size) return damaged(path);
  const Result<std::string> front = file->read(static_cast<std::size_t>(layout.front_bytes()), header_bytes);
  if (!front) return front.error();
  if (get_u32(at + 12) != crc32c(*front, crc32c(std::string_view(*header).substr(16)))) return damaged(path);

  SealedIndex index(std::move(*file));
  index.summary_ = {segment,
                    get_u64(at + 24),
                    get_u64(at + 32),
                    get_u64(at + 40),
                    time_of(get_u64(at + 48)),
                    get_u64(at + 56),
                    time_of(get_u64(at + 64)),
                    get_u64(at + 96)};
  index.blocks_at_ = layout.blocks_at();
  const char* from = front->data();
  for (std::uint64_t i = 0; i < layout.open; ++i, from += entry_bytes) index.open_.push_back(get_entry(from));
  for (std::uint64_t i = 0; i < layout.blocks; ++i, from += 8) index.first_.push_back(get_u64(from));
  if (!Filter::from_bytes({from, layout.filter_bytes}, index.filter_)) return damaged(path);
  return index;
}

std::size_t SealedIndex::block_for(std::uint64_t prefix) const {
  // Entries of one prefix may begin in the block before the first one that starts with it.
  const auto at = std::lower_bound(first_.begin(), first_.end(), prefix);
  const auto number = static_cast<std::size_t>(at - first_.begin());
  return number == 0 ? 0 : number - 1;
}

Result<std::vector<IndexEntry>> SealedIndex::block(std::size_t number) const {
  const Result<std::string> bytes = file_.read(block_bytes, blocks_at_ + number * block_bytes);
  if (!bytes) return bytes.error();
  const std::uint32_t count = get_u32(bytes->data() + 4);
  if (get_u32(bytes->data()) != crc32c(std::string_view(*bytes).substr(4)) || count > block_entries) {
    return damaged(file_.path());
  }
  std::vector<IndexEntry> entries(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    entries[i] = get_entry(bytes->data() + block_header_bytes + i * entry_bytes);
  }
  return entries;
}

Result<std::vector<IndexEntry>> SealedIndex::find(std::uint64_t prefix) const {
  std::vector<IndexEntry> found;
  for (std::size_t number = block_for(prefix); number < blocks() && first_[number] <= prefix; ++number) {
    Result<std::vector<IndexEntry>> entries = block(number);
    if (!entries) return entries.error();
    for (const IndexEntry& entry : *entries) {
      if (entry.prefix == prefix) found.push_back(entry);
    }
  }
  return found;
}

}  // namespace onceward::embedded
