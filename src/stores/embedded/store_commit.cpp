#include <algorithm>

#include "core/transition.hpp"
#include "stores/embedded/store_impl.hpp"

namespace onceward::embedded {
namespace {

void take_waiting(Write& write, std::vector<Waiter>& waiting) {
  if (waiting.empty()) {
    waiting.swap(write.waiting);
  } else {
    waiting.insert(waiting.end(), write.waiting.begin(), write.waiting.end());
    write.waiting.clear();
  }
}

template <class Visit>
void for_each_part(Write& write, Visit visit) {
  for (const std::unique_ptr<Write>& part : write.parts) visit(*part);
  visit(write);
}

}  // namespace

void StoreImpl::committed(Write* first) {
  // Where they go is in nobody's cache: all of it is sent for before the first is published.
  for (const Write* write = first; write; write = write->next)
    shard_of(scope_prefix(write->scope)).filling->prefetch(write->scope);
  Wakeups wakeups;
  while (first) {
    std::unique_ptr<Write> write(first);
    first = first->next;
    if (write->reply) wakeups.add(write->executor, write->reply);
    WriteGroup* const group = write->group;
    std::vector<Waiter> waiting;
    for (const std::unique_ptr<Write>& part : write->parts) {
      Shard& its = shard_of(scope_prefix(part->scope));
      const std::lock_guard lock(its.mutex);
      publish(its, *part, waiting);
    }
    Shard& shard = shard_of(scope_prefix(write->scope));
    {
      const std::lock_guard lock(shard.mutex);
      publish(shard, *write, waiting);
      shard.pool.give(std::move(write));
    }
    if (group) group->done(true);
    for (const Waiter& waiter : waiting) {
      if (run_again(waiter)) wakeups.add(waiter.executor, waiter.reply);
    }
  }
  wakeups.post();
}

// Whoever sees one part and asks for another finds it still being written, and waits.
void StoreImpl::publish(Shard& shard, Write& write, std::vector<Waiter>& waiting) {
  shard.publish(write);
  if (write.queued) {
    if (write.kind == EntryKind::removal) {
      events_.remove(write.queued->scope, write.queued->key);
    } else {
      events_.put(std::move(*write.queued));
    }
  }
  if (!write.waiting.empty()) take_waiting(write, waiting);
}

void StoreImpl::failed(Write* first, const Error& error) {
  Wakeups wakeups;
  while (first) {
    std::unique_ptr<Write> write(first);
    first = first->next;
    const bool in_doubt = error.code == Errc::unavailable;
    std::vector<Waiter> waiting;
    for_each_part(*write, [&](Write& one) {
      Shard& shard = shard_of(scope_prefix(one.scope));
      const std::lock_guard lock(shard.mutex);
      if (!in_doubt) shard.forget(one);
      take_waiting(one, waiting);
    });
    if (write->reply) {
      write->fail(write->reply, error);
      wakeups.add(write->executor, write->reply);
    }
    if (write->group) write->group->done(false);
    // While in doubt the shards are stopped, and each waiter is told just that.
    if (in_doubt) limbo_.push_back(std::move(write));
    for (const Waiter& waiter : waiting) {
      if (run_again(waiter)) wakeups.add(waiter.executor, waiter.reply);
    }
  }
  wakeups.post();
}

void StoreImpl::stopped(const Error& why) {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.stopped = true;
  }
  const std::lock_guard lock(health_mutex_);
  stopped_message_ = why.message;
}

// The fresh segment's header has cut the lost writes off: what was true before them is true.
void StoreImpl::resumed() {
  for (const std::unique_ptr<Write>& write : limbo_) {
    for_each_part(*write, [this](Write& one) {
      Shard& shard = shard_of(scope_prefix(one.scope));
      const std::lock_guard lock(shard.mutex);
      shard.forget(one);
    });
  }
  limbo_.clear();
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.stopped = false;
  }
  const std::lock_guard lock(health_mutex_);
  stopped_message_.clear();
}

void StoreImpl::rolled(const SegmentPtr& fresh, const IndexSummary& old) {
  SegmentPtr full;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    full = shard.recents.front().segment;
    shard.begin_segment({fresh, {}, {}, Timestamp::max()});
  }
  queue_seal(std::move(full), old);
}

void StoreImpl::queue_seal(SegmentPtr segment, const IndexSummary& summary) {
  supply_.run([this, segment = std::move(segment), summary] {
    to_seal_.emplace_back(segment, summary);
    seal_waiting();
  });
}

// In order: lookups take what is in memory for newer than what is sealed. One that cannot be sealed (no
// room) is tried again with the next; until then it is searched in memory.
void StoreImpl::seal_waiting() {
  while (!to_seal_.empty() && seal(to_seal_.front().first, to_seal_.front().second)) to_seal_.pop_front();
  group_segments();
}

bool StoreImpl::seal(const SegmentPtr& segment, const IndexSummary& summary) {
  std::vector<IndexEntry> entries;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const Recent& recent : shard.recents) {
      if (recent.segment != segment) continue;
      std::vector<IndexEntry> some = index_entries(recent.slots, recent.damaged);
      entries.insert(entries.end(), some.begin(), some.end());
    }
  }
  const std::string path = index_path(folder_, segment->id());
  if (!SealedIndex::write(ops_, path, summary, std::move(entries))) return false;
  Result<SealedIndex> index = SealedIndex::open(ops_, path, segment->id());
  if (!index) return false;
  (void)segment->file.truncate(summary.data_end);  // only gives the unused room back
  Filter filter = index->take_filter();
  const auto sealed = std::make_shared<const Sealed>(Sealed{segment, std::move(*index)});
  const std::lock_guard change(list_mutex_);
  auto list = std::make_shared<SealedList>(*sealed_list());
  list->add_newest(sealed, std::move(filter));
  for (Shard& shard : shards_) {
    std::list<Recent> dropped;  // freed outside the lock
    const std::lock_guard lock(shard.mutex);
    shard.sealed = list;  // in the same moment as it leaves memory: it is always in one of the two
    const auto at = std::find_if(shard.recents.begin(), shard.recents.end(),
                                 [&](const Recent& recent) { return recent.segment == segment; });
    if (at == shard.recents.end()) continue;
    dropped.splice(dropped.end(), shard.recents, at);
  }
  return true;
}

std::shared_ptr<const SealedList> StoreImpl::sealed_list() const {
  const std::lock_guard lock(shards_.front().mutex);
  return shards_.front().sealed;
}

// One that every shard has. While a segment is being sealed some shards have it in the list and others still
// in memory; whoever gave it up then would take its records there for newer ones that need no copy.
std::shared_ptr<const SealedList> StoreImpl::installed_list() {
  const std::lock_guard change(list_mutex_);
  return sealed_list();
}

void StoreImpl::install(std::shared_ptr<const SealedList> list) {
  const std::shared_ptr<const SealedList> old =
      sealed_list();  // what goes with it is freed outside the locks
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.sealed = list;
  }
}

// Before any thread runs.
void StoreImpl::adopt(Recovered recovered) {
  const auto sealed = std::make_shared<const SealedList>(std::move(recovered.sealed));
  for (Shard& shard : shards_) {
    shard.sealed = sealed;
  }
  for (std::size_t i = recovered.recents.size(); i-- > 0;) {
    const RecoveredSegment& recent = recovered.recents[i];
    for (Shard& shard : shards_) shard.begin_segment({recent.segment, {}, {}, Timestamp::max()});
    for (const auto& [scope, slot] : recent.slots)
      shard_of(scope_prefix(scope)).recents.front().set(scope, slot);
    for (const IndexEntry& damage : recent.damaged)
      shard_of(damage.prefix).recents.front().damaged.push_back(damage);
  }
  for (std::size_t i = recovered.recents.size(); i-- > 1;) {
    const RecoveredSegment& old = recovered.recents[i];
    queue_seal(old.segment, {old.segment->id(),
                             old.scan.end,
                             old.scan.sequence,
                             old.scan.records,
                             old.scan.written_at.value_or(Timestamp{}),
                             0,
                             {},
                             0});
  }
  for (QueuedRef& event : recovered.events) {
    shard_of(scope_prefix(event.body)).events[event.body] = {};
    events_.put(std::move(event));
  }
  end_leases(std::move(recovered.open));
}

// The process that owned these is dead, so their leases end now: `processing` may have run (I4), and
// `claimed` has provably sent nothing.
void StoreImpl::end_leases(std::vector<Record> open) {
  const Timestamp now = time_.now();
  for (Record& record : open) {
    Shard& shard = shard_of(scope_prefix(record.scope));
    const bool held = record.state != State::unknown && record.lease_until > now;
    if (held) record.lease_until = now;
    const State before = record.state;
    std::optional<Record> settled = settle(record, now);
    if (!settled) continue;
    const std::lock_guard lock(shard.mutex);
    shard.live[record.scope].open = std::make_unique<Record>(*settled);
    if (!held && settled->state == before) continue;
    auto* write = new Write;
    write->scope = record.scope;
    write->role = role_of(*settled);
    write->record = std::make_unique<Record>(std::move(*settled));
    encode(*write);
    shard.begin(*write);
    writer_.submit(write);
  }
}

}  // namespace onceward::embedded
