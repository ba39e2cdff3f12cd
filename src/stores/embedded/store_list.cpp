#include <algorithm>
#include <queue>

#include "base/hex.hpp"
#include "core/transition.hpp"
#include "stores/embedded/scanned_index.hpp"
#include "stores/embedded/store_impl.hpp"

namespace onceward::embedded {
namespace {

constexpr std::size_t looked_at_max = 5000;  // by one call of list, so that it ends soon

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The cursor is the last scope that was shown: records stand in the order of their scopes, which no
// change moves.
std::optional<Scope> scope_from_hex(std::string_view text) {
  Scope scope;
  if (text.size() != 2 * scope.data.size()) return std::nullopt;
  for (std::size_t i = 0; i < scope.data.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    scope.data[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return scope;
}

// Walks one sealed index in order, a block at a time.
class IndexWalk {
 public:
  IndexWalk(SealedPtr sealed, std::uint64_t first, bool marks_only)
      : sealed_(std::move(sealed)), reader_(*sealed_), marks_only_(marks_only) {
    block_ = sealed_->index.block_for(first);
    for (load(); !at_end() && prefix() < first;) next();
  }
  bool at_end() const { return at_ >= entries_.size(); }
  std::uint64_t prefix() const { return entries_[at_].prefix; }
  void next() {
    if (++at_ >= entries_.size()) load();
  }
  const IndexReader& reader() const { return reader_; }
  std::uint64_t passed_over() const { return passed_over_; }  // entries that nobody can read

 private:
  void load() {
    entries_.clear();
    at_ = 0;
    for (; entries_.empty() && block_ < sealed_->index.blocks(); ++block_) {
      if (Result<std::vector<IndexEntry>> loaded = reader_.block(block_)) {
        entries_ = std::move(*loaded);
        if (marks_only_)
          std::erase_if(entries_, [](const IndexEntry& entry) { return entry.state != kept_mark_state; });
      } else {
        passed_over_ += sealed_->index.entries_in(block_);
      }
    }
  }
  SealedPtr sealed_;
  IndexReader reader_;
  const bool marks_only_;
  std::uint64_t passed_over_ = 0;
  std::size_t block_ = 0;
  std::vector<IndexEntry> entries_;
  std::size_t at_ = 0;
};

void keep_smallest(std::vector<std::uint64_t>& values, std::size_t count) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > count) values.resize(count);
}

}  // namespace

// The next prefixes that the store has anything of, in order.
std::vector<std::uint64_t> StoreImpl::prefixes_from(std::uint64_t first, std::size_t count, Which which) {
  const bool marks_only = which == Which::kept_marks;
  std::vector<std::uint64_t> found;
  const std::shared_ptr<const SealedList> before = sealed_list();
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    const auto add = [&](std::uint64_t prefix) {
      if (prefix < first) return;
      found.push_back(prefix);
      if (found.size() > 4 * count + 1024) keep_smallest(found, count);
    };
    if (!marks_only)
      shard.for_each_open([&](const Scope& scope, const Record&) { add(scope_prefix(scope)); });
    if (which == Which::open) continue;
    for (const Recent& recent : shard.recents) {
      for (const auto& [scope, slot] : recent.slots) {
        if (!marks_only || slot.state == kept_mark_state) add(scope_prefix(scope));
      }
      for (const IndexEntry& damage : recent.damaged) add(damage.prefix);
    }
  }
  keep_smallest(found, count);
  if (which == Which::open) return found;
  const auto later = [](const IndexWalk* a, const IndexWalk* b) { return a->prefix() > b->prefix(); };
  std::priority_queue<IndexWalk*, std::vector<IndexWalk*>, decltype(later)> next(later);
  std::deque<IndexWalk> walks;
  // Records move while this looks: from memory into a segment that is sealed, and from one that is given up
  // into memory. What is in the list before or after has them all.
  const std::shared_ptr<const SealedList> after = sealed_list();
  std::vector<SealedPtr> both(after->begin(), after->end());
  for (const SealedPtr& sealed : *before) {
    if (std::find(both.begin(), both.end(), sealed) == both.end()) both.push_back(sealed);
  }
  for (const SealedPtr& sealed : both) {
    walks.emplace_back(sealed, first, marks_only);
    if (!walks.back().at_end()) next.push(&walks.back());
  }
  std::size_t taken = 0;
  std::uint64_t last = ~std::uint64_t{0};
  while (!next.empty() && taken <= count) {
    IndexWalk* walk = next.top();
    next.pop();
    if (walk->prefix() != last) {
      last = walk->prefix();
      found.push_back(last);
      ++taken;
    }
    walk->next();
    if (!walk->at_end()) next.push(walk);
  }
  for (const IndexWalk& walk : walks) {
    if (!marks_only) passed_over_ += walk.passed_over();  // by a list of everything, once
    mend_index(walk.reader());
  }
  keep_smallest(found, count);
  return found;
}

// The next to open the store finds the index whole. Whoever has it open goes round its damage until then.
void StoreImpl::mend_index(const IndexReader& reader) {
  const Sealed& sealed = reader.sealed();
  if (!reader.scanned() || mended_.contains(sealed.segment->id())) return;
  IndexSummary summary = sealed.index.summary();
  summary.last_gone_at = {};
  summary.removals = 0;
  const std::string path = index_path(folder_, sealed.segment->id());
  if (SealedIndex::write(ops_, path, summary, *reader.scanned())) mended_.insert(sealed.segment->id());
}

// Every record of this prefix as it stands, synced, unsettled; newest states only.
std::vector<StoreImpl::Found> StoreImpl::current_of(std::uint64_t prefix) const {
  std::vector<Found> found;
  struct At {
    Scope scope;
    Place place;
  };
  std::vector<At> recent;
  std::vector<Scope> seen;
  bool damaged = false;
  std::vector<SealedPtr> candidates;
  const auto is_seen = [&](const Scope& scope) {
    return std::find(seen.begin(), seen.end(), scope) != seen.end();
  };
  {
    const Shard& shard = shard_of(prefix);
    const std::lock_guard lock(shard.mutex);
    shard.live.for_prefix(prefix, [&](const Scope& scope, const Live& live) {
      if (!live.open) return;
      found.push_back({scope, *live.open});
      seen.push_back(scope);
    });
    for (const Recent& one : shard.recents) {
      one.slots.for_prefix(prefix, [&](const Scope& scope, const Slot& slot) {
        if (is_seen(scope)) return;
        seen.push_back(scope);
        Place place;
        place.kind = Place::recent;
        place.segment = one.segment;
        place.slot = slot;
        recent.push_back({scope, std::move(place)});
      });
      for (const IndexEntry& damage : one.damaged) damaged |= damage.prefix == prefix && seen.empty();
    }
    shard.sealed->find(prefix, candidates);
  }
  const auto add = [&](const Scope& scope, Result<std::optional<Record>> stored) {
    if (!stored) {
      found.push_back({scope, stored.error()});
    } else if (*stored) {
      found.push_back({scope, std::move(**stored)});
    }
  };
  for (const At& at : recent) add(at.scope, read_place(at.place, at.scope));
  if (damaged) found.push_back({{}, Error{Errc::unreadable, "the record is damaged on disk"}});
  for (const SealedPtr& sealed : candidates) {
    const Result<std::vector<IndexEntry>> entries = entries_of(*sealed, prefix);
    if (!entries) {
      found.push_back({{}, entries.error()});
      continue;
    }
    for (const IndexEntry& entry : *entries) {
      Result<Entry> stored = read_entry(*sealed->segment, entry.offset, entry.payload_bytes, prefix);
      if (!stored) {
        if (seen.empty()) found.push_back({{}, stored.error()});
        continue;
      }
      Record* record = std::get_if<Record>(&*stored);
      const Scope scope = record ? record->scope : std::get<Removed>(*stored).scope;
      if (is_seen(scope)) continue;
      seen.push_back(scope);
      if (record) found.push_back({scope, std::move(*record)});
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.scope < b.scope; });
  return found;
}

Result<std::string> StoreImpl::walk_page(const std::string& cursor, Which which,
                                         const std::function<bool(const Record&)>& take) {
  std::optional<Scope> after;
  if (!cursor.empty()) {
    after = scope_from_hex(cursor);
    if (!after) return Error{Errc::invalid, "the cursor is not one of this store"};
  }
  const std::vector<std::uint64_t> prefixes =
      prefixes_from(after ? scope_prefix(*after) : 0, looked_at_max, which);
  for (const std::uint64_t prefix : prefixes) {
    for (Found& found : current_of(prefix)) {
      if (!found.record) {
        if (which != Which::kept_marks) ++passed_over_;  // `onceward store verify` names them
        continue;
      }
      if (after && found.scope <= *after) continue;
      if (!take(*found.record)) return to_hex(after->data);
      after = found.scope;
    }
  }
  if (prefixes.size() < looked_at_max) return std::string();
  // Everything of the last prefix was seen: go on behind the last scope that it can have.
  Scope last;
  last.data.fill(0xff);
  for (std::size_t i = 0; i < 8; ++i)
    last.data[i] = static_cast<std::uint8_t>((prefixes.back() << 2 | 3) >> (56 - 8 * i));
  return to_hex(last.data);
}

Result<ListReply> StoreImpl::list_now(const ListRequest& request) {
  const Timestamp now = time_.now();
  ListReply reply;
  const bool open_only = request.state && is_open(*request.state);  // those are all in memory
  const std::size_t limit = std::max<std::size_t>(request.limit, 1);
  Result<std::string> cursor =
      walk_page(request.cursor, open_only ? Which::open : Which::all, [&](const Record& stored) {
        if (role_of(stored) != Role::record) return true;
        const std::optional<Record> settled = settle(stored, now);
        if (!settled || !matches(request, *settled)) return true;
        if (reply.records.size() == limit) return false;
        reply.records.push_back(*settled);
        return true;
      });
  if (!cursor) return cursor.error();
  reply.cursor = std::move(*cursor);
  return reply;
}

Result<ListMarksReply> StoreImpl::list_marks_now(const ListMarksRequest& request) {
  const Timestamp now = time_.now();
  ListMarksReply reply;
  const std::size_t limit = std::max<std::size_t>(request.limit, 1);
  Result<std::string> cursor = walk_page(request.cursor, Which::kept_marks, [&](const Record& stored) {
    if (role_of(stored) != Role::mark) return true;
    const MarkEntry entry = mark_entry(stored);
    if (!entry.until || now >= *entry.until) return true;
    if (reply.marks.size() == limit) return false;
    reply.marks.push_back(entry);
    return true;
  });
  if (!cursor) return cursor.error();
  reply.cursor = std::move(*cursor);
  return reply;
}

bool StoreImpl::list_marks(const ListMarksRequest& request, Reply<ListMarksReply>& reply) {
  in_background([this, &request, &reply] {
    reply.value = list_marks_now(request);
    reply.next = nullptr;
    reply.executor->post(&reply);
  });
  return false;
}

bool StoreImpl::list(const ListRequest& request, Reply<ListReply>& reply) {
  in_background([this, &request, &reply] {
    reply.value = list_now(request);
    reply.next = nullptr;
    reply.executor->post(&reply);
  });
  return false;
}

}  // namespace onceward::embedded
