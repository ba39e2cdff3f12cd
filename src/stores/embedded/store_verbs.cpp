#include "core/reserved.hpp"
#include "core/transition.hpp"
#include "stores/embedded/store_impl.hpp"
#include "stores/embedded/verb_parts.hpp"

namespace onceward::embedded {
namespace {

// A record can change between being read from disk and being decided upon; each round has seen another
// verb succeed, so more than a few in a row mean that something is wrong.
constexpr int rounds_max = 100;

struct Look {};

Step transition(const Record* stored, const Look&, Timestamp now) {
  std::optional<Record> settled = stored ? settle(*stored, now) : std::nullopt;
  if (!settled || role_of(*settled) != Role::record)
    return {std::nullopt, Error{Errc::not_found, "no such record"}};
  return {std::nullopt, std::move(*settled)};
}

Error stopped_error() { return {Errc::unavailable, "the store has stopped after a failed write"}; }

}  // namespace

// Onceward's own few records are claimed in any case: the relay's among them, which makes room for events.
std::optional<Error> StoreImpl::refuses_claims(const RequestInfo& request) const {
  if (supply_.short_of_room()) return Error{Errc::refused, "no room on the disk for new claims"};
  if (events_.is_full() && !is_reserved_operation(request.operation))
    return Error{Errc::refused, "too many events wait to be sent"};
  return std::nullopt;
}

template <class StepT, class T>
bool StoreImpl::apply(Shard& shard, std::unique_lock<std::mutex>& lock, StepT step, bool existed,
                      const RequestInfo* claimed, Reply<T>& reply) {
  if (!step.next) return answer<T>(reply, std::move(step.reply));
  if (claimed) {
    if (std::optional<Error> why = refuses_claims(*claimed)) return answer<T>(reply, std::move(*why));
  }
  Write* write = shard.pool.take().release();
  write->scope = step.next->scope;
  if (is_open(step.next->state)) write->record = shard.pool.take_record();
  write->gives_way = claimed != nullptr;
  write->records_change = existed ? 0 : 1;
  write->reply = &reply;
  write->executor = reply.executor;
  write->fail = &fail_reply<T>;
  reply.value = std::move(step.reply);  // true once the write is
  shard.begin(*write);
  lock.unlock();
  encode_record(*step.next, *write);
  if (write->record) *write->record = std::move(*step.next);
  writer_.submit(write);
  return false;
}

template <class Event, class T>
bool StoreImpl::decide(Verb verb, const Scope& scope, const Event& event, Reply<T>& reply) {
  const RequestInfo* claimed = nullptr;
  if constexpr (std::is_same_v<Event, ClaimRequest>) {
    if (!event.request->marks.empty()) return claim_marked(event, reply);
    claimed = event.request.get();
  } else if constexpr (std::is_same_v<Event, Record>) {
    claimed = event.request.get();
  }
  Shard& shard = shard_of(scope_prefix(scope));
  const Timestamp now = time_.now();
  for (int round = 0; round < rounds_max; ++round) {
    std::unique_lock lock(shard.mutex);
    if (shard.stopped) return answer<T>(reply, stopped_error());
    const Place place = shard.find(scope);
    if (place.kind == Place::pending) {
      const void* request = std::is_same_v<Event, Look> ? static_cast<const void*>(&scope) : &event;
      place.write->waiting.push_back({verb, request, &reply, reply.executor});
      return false;
    }
    if (place.kind == Place::none || place.kind == Place::open) {
      auto step = transition(place.record, event, now);
      if constexpr (std::is_same_v<Event, ClaimRequest>) {
        if (step.next && !left_marks(place.record, *step.next).empty()) {
          lock.unlock();
          return claim_marked(event, reply);
        }
      }
      if constexpr (can_be_wide<Event>) {
        if (step.next && is_wide(event, *step.next)) {
          lock.unlock();
          return decide_wide(verb, scope, event, reply);
        }
      }
      return apply(shard, lock, std::move(step), place.record != nullptr, claimed, reply);
    }
    lock.unlock();
    SegmentId found_in = 0;
    Result<std::optional<Record>> stored = read_place(place, scope, &found_in);
    if (!stored) return answer<T>(reply, stored.error());
    auto step = transition(*stored ? &**stored : nullptr, event, now);
    if (!step.next) return answer<T>(reply, std::move(step.reply));
    if constexpr (std::is_same_v<Event, ClaimRequest>) {
      if (!left_marks(*stored ? &**stored : nullptr, *step.next).empty()) return claim_marked(event, reply);
    }
    if constexpr (can_be_wide<Event>) {
      if (is_wide(event, *step.next)) return decide_wide(verb, scope, event, reply);
    }
    lock.lock();
    if (shard.stopped) return answer<T>(reply, stopped_error());
    if (!place.same_as(shard.find(scope))) continue;
    const bool counted = stored->has_value() && !(found_in != 0 && found_in == shard.counted_out.segment &&
                                                  scope_prefix(scope) <= shard.counted_out.prefix);
    return apply(shard, lock, std::move(step), counted, claimed, reply);
  }
  return answer<T>(reply, Error{Errc::unavailable, "the record changes faster than it can be read"});
}

bool StoreImpl::claim(const ClaimRequest& request, Reply<ClaimReply>& reply) {
  return decide(Verb::claim, request.scope, request, reply);
}
void StoreImpl::expect(const Scope& scope) {
  const Shard& shard = shard_of(scope_prefix(scope));
  const std::unique_lock lock(shard.mutex, std::try_to_lock);
  if (lock) shard.prefetch(scope);  // waiting would cost more than it saves
}
bool StoreImpl::dispatch(const Fence& fence, Reply<Record>& reply) {
  return decide(Verb::dispatch, fence.scope, fence, reply);
}
bool StoreImpl::renew(const RenewRequest& request, Reply<Record>& reply) {
  return decide(Verb::renew, request.fence.scope, request, reply);
}
bool StoreImpl::complete(const CompleteRequest& request, Reply<Record>& reply) {
  return decide(Verb::complete, request.fence.scope, request, reply);
}
bool StoreImpl::release(const ReleaseRequest& request, Reply<Record>& reply) {
  return decide(Verb::release, request.fence.scope, request, reply);
}
bool StoreImpl::unknown(const UnknownRequest& request, Reply<Record>& reply) {
  return decide(Verb::unknown, request.fence.scope, request, reply);
}
bool StoreImpl::resolve(const ResolveRequest& request, Reply<Record>& reply) {
  return decide(Verb::resolve, request.scope, request, reply);
}
bool StoreImpl::adopt(const Record& copy, Reply<bool>& reply) {
  return decide(Verb::adopt, copy.scope, copy, reply);
}
bool StoreImpl::lookup(const Scope& scope, Reply<Record>& reply) {
  return decide(Verb::lookup, scope, Look{}, reply);
}

bool StoreImpl::lookup(const OperationId& id, Reply<Record>& reply) {
  const std::uint64_t prefix = scope_prefix(id);
  Shard& shard = shard_of(prefix);
  {
    const std::lock_guard lock(shard.mutex);
    if (shard.stopped) return answer<Record>(reply, stopped_error());
    Write* pending = nullptr;
    shard.live.for_prefix(prefix, [&](const Scope&, const Live& live) {
      if (live.write) pending = live.write;
    });
    if (pending) {
      pending->waiting.push_back({Verb::lookup_id, &id, &reply, reply.executor});
      return false;
    }
  }
  const Timestamp now = time_.now();
  for (Found& found : current_of(prefix)) {
    if (!found.record) return answer<Record>(reply, std::move(found.record));
    if (found.record->operation_id == id)
      return answer<Record>(reply, transition(&*found.record, Look{}, now).reply);
  }
  return answer<Record>(reply, transition(nullptr, Look{}, now).reply);
}

bool StoreImpl::run_again(const Waiter& waiter) {
  auto& record_reply = static_cast<Reply<Record>&>(*waiter.reply);
  switch (waiter.verb) {
    case Verb::claim:
      return claim(*static_cast<const ClaimRequest*>(waiter.request),
                   static_cast<Reply<ClaimReply>&>(*waiter.reply));
    case Verb::dispatch:
      return dispatch(*static_cast<const Fence*>(waiter.request), record_reply);
    case Verb::renew:
      return renew(*static_cast<const RenewRequest*>(waiter.request), record_reply);
    case Verb::complete:
      return complete(*static_cast<const CompleteRequest*>(waiter.request), record_reply);
    case Verb::release:
      return release(*static_cast<const ReleaseRequest*>(waiter.request), record_reply);
    case Verb::unknown:
      return unknown(*static_cast<const UnknownRequest*>(waiter.request), record_reply);
    case Verb::resolve:
      return resolve(*static_cast<const ResolveRequest*>(waiter.request), record_reply);
    case Verb::adopt:
      return adopt(*static_cast<const Record*>(waiter.request), static_cast<Reply<bool>&>(*waiter.reply));
    case Verb::adopt_mark:
      return adopt_mark(*static_cast<const AdoptMarkRequest*>(waiter.request),
                        static_cast<Reply<bool>&>(*waiter.reply));
    case Verb::lookup:
      return lookup(*static_cast<const Scope*>(waiter.request), record_reply);
    case Verb::lookup_id:
      return lookup(*static_cast<const OperationId*>(waiter.request), record_reply);
    case Verb::settle_events:
      return settle_events(*static_cast<const SettleEventsRequest*>(waiter.request),
                           static_cast<Reply<std::size_t>&>(*waiter.reply));
    case Verb::retry_events:
      return retry_events(*static_cast<const RetryEventsRequest*>(waiter.request),
                          static_cast<Reply<std::size_t>&>(*waiter.reply));
  }
  return true;
}

}  // namespace onceward::embedded
