// Marks and pending events lie in the log as records of reserved operations, so that the index, cleaning,
// recovery and the search for damage treat them as they treat everything else. Pure; any thread.
#pragma once

#include <optional>

#include "core/event_queue.hpp"
#include "core/marks.hpp"

namespace onceward::embedded {

enum class Role : std::uint8_t { record, mark, event };

Role role_of(const Record& record);

// A mark's record has the mark's scope. Without an end it is open, else it is gone with its end.
Record mark_record(const MarkEntry& entry);
MarkEntry mark_entry(const Record& mark);

// An event's record has a scope of its own, made of its id, and never goes by itself.
Scope event_scope(std::string_view id);
Record event_record(const PendingEvent& event);
// Nothing: its inside cannot be read.
std::optional<PendingEvent> pending_event(const Record& event);

// What stays in memory of an event: `body` is the scope under which the rest is read.
using QueuedRef = QueuedEvent<Scope>;
QueuedRef queued_ref(const PendingEvent& event);

}  // namespace onceward::embedded
