// Records that move from one store to another as they are: state, epoch, owner, times, answer; and the marks
// that outlive them. Adopter is what a store offers for it beside its verbs; the rules, pure, say whether a
// copy is taken, so that a move may be repeated and never undoes what has happened at its target.
#pragma once

#include <cstdint>
#include <optional>

#include "core/marks.hpp"
#include "onceward/store.hpp"

namespace onceward {

// Whether a copy of a record is later than the one that stands: a higher epoch, a state that the other leads
// to, a lease that was renewed. Another life of the key (another operation id) never is: who began it has
// decided.
bool supersedes(const Record& copy, const Record& standing);

// What to store (nothing: leave it as it is), and whether the copy was taken.
struct AdoptStep {
  std::optional<Record> next;
  Result<bool> reply;
};
AdoptStep transition(const Record* stored, const Record& copy, Timestamp now);

// Whether a copy of an entry is taken in the place of the one that the target has (null: none), whose
// holder's record is `holder`. Another's entry that stands stays, and so does a later end of the same.
bool takes_mark(const MarkEntry& copy, const MarkEntry* entry, const Record* holder, Timestamp now);

struct ListMarksRequest {
  std::size_t limit = 1000;  // about so many; a page may be empty and have another behind it
  std::string cursor;
};
struct ListMarksReply {
  std::vector<MarkEntry> marks;
  std::string cursor;  // empty: that was all
};

struct AdoptMarkRequest {
  MarkEntry copy;
  bool only_ask = false;  // changes nothing, replies whether it would be written
};

class Adopter {
 public:
  virtual ~Adopter() = default;
  // As a verb of Store: any thread, the record lives until the reply. Replies whether the copy was written.
  virtual bool adopt(const Record& copy, Reply<bool>& reply) = 0;
  // Entries that have an end to come, for these may outlive their record; those without one come with it. In
  // no order, and one may come twice.
  virtual bool list_marks(const ListMarksRequest& request, Reply<ListMarksReply>& reply) = 0;
  // Replies whether the copy was written. Errc::refused: this store keeps no marks.
  virtual bool adopt_mark(const AdoptMarkRequest& request, Reply<bool>& reply) = 0;
  // How often lists have passed over a record or mark of this store that cannot be read. Whoever copies from
  // it must not lose them silently: what is missing at the target would run again (I5).
  virtual std::uint64_t passed_over() const = 0;
};

}  // namespace onceward
