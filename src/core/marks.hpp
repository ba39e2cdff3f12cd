// Marks: what a claim takes besides its record (`unique`, `suspect`), as pure functions. Stores call them
// inside the step that also changes the record; SQL and Lua mirror them. A store keeps one entry per mark.
//
//   claim granted        unique: held, no end yet          suspect: held until claim + keep
//   succeeded            unique: held until now + keep     suspect: as it was
//   failed, released     both: the entry goes
//   unknown, lease end   both: as they were (I4: it may have happened)
//   claimed again with   what it no longer has goes, unless an epoch before may have made it true: then it is
//   other marks          kept as after success
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/transition.hpp"

namespace onceward {

struct MarkEntry {
  Scope scope;  // of the mark
  MarkHolder holder;
  std::optional<Timestamp> until;  // none: for as long as the holder's record is open
  bool operator==(const MarkEntry&) const = default;
};

// A mark of a claim, its entry (null: none) and the record that the entry's holder scope has (null: none),
// as they are stored.
struct MarkSeen {
  const Mark* mark = nullptr;
  const MarkEntry* entry = nullptr;
  const Record* holder = nullptr;
};

struct MarkedClaim {
  ClaimStep step;
  std::vector<MarkEntry> taken;  // to be written in the same step as the record; empty unless granted
};

// `step` is what the record alone says. A grant that meets a standing mark that refuses becomes a refusal
// which writes nothing at all (I7). A step that writes nothing, as a claim asked again by its owner (I10),
// stays as it is.
MarkedClaim take_marks(ClaimStep step, std::span<const MarkSeen> seen, Timestamp now);

// Whether the entry stands in the way of others. `holder` is the record of the entry's holder scope.
bool stands(const MarkEntry& entry, const Record* holder, Timestamp now);

bool is_held_by(const MarkEntry& entry, const Record& record);

// Whether `next`, about to be stored, changes entries of its marks.
bool ends_marks(const Record& next);

enum class MarkChange { none, write, drop };
struct MarkStep {
  MarkChange change = MarkChange::none;
  MarkEntry entry;  // for MarkChange::write
};
// What storing `next` does to the entry (null: none) of one of its marks. Another's entry is left alone.
MarkStep end_mark(const Mark& mark, const MarkEntry* entry, const Record& next, Timestamp now);

// The marks of `before` (null: none) that its next epoch, about to be stored, no longer has.
std::vector<Mark> left_marks(const Record* before, const Record& next);
// What that does to the entry (null: none) of one of them. Nobody else would ever end it: a record knows the
// marks of its last claim only.
MarkStep leave_mark(const Mark& mark, const MarkEntry* entry, const Record& next, Timestamp now);

// The same for a record that comes from another store as it is: its marks come with it.
MarkStep adopt_mark(const Mark& mark, const MarkEntry* entry, const Record& copy);

}  // namespace onceward
