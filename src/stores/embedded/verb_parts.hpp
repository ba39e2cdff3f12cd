// What the verbs of the embedded store share: how they answer, and which of them change more than a record.
#pragma once

#include "core/marks.hpp"
#include "onceward/store.hpp"

namespace onceward::embedded {

template <class T>
void fail_reply(Completion* reply, const Error& error) {
  static_cast<Reply<T>*>(reply)->value = error;
}

template <class T>
bool answer(Reply<T>& reply, Result<T> value) {
  reply.value = std::move(value);
  return true;
}

inline const Events* events_of(const CompleteRequest& event) { return event.events.get(); }
inline const Events* events_of(const ResolveRequest& event) { return event.events.get(); }
inline const Events* events_of(const ReleaseRequest&) { return nullptr; }
inline const Events* events_of(const Record&) { return nullptr; }  // adopted

template <class Event>
bool changes_marks(const Event&, const Record& next) {
  return ends_marks(next);
}
inline bool changes_marks(const Record&, const Record& next) { return !next.request->marks.empty(); }

template <class Event>
MarkStep mark_step(const Event&, const Mark& mark, const MarkEntry* entry, const Record& next,
                   Timestamp now) {
  return end_mark(mark, entry, next, now);
}
inline MarkStep mark_step(const Record&, const Mark& mark, const MarkEntry* entry, const Record& next,
                          Timestamp) {
  return adopt_mark(mark, entry, next);
}

template <class Event>
constexpr bool can_be_wide = requires(const Event& event) { events_of(event); };

template <class Event>
bool is_wide(const Event& event, const Record& next) {
  const Events* events = events_of(event);
  return (events && !events->empty()) || changes_marks(event, next);
}

}  // namespace onceward::embedded
