// Records that move from one store to another as they are: state, epoch, owner, times, answer. Adopter is
// what a store offers for it beside its verbs; the rule, pure, says whether a copy is taken, so that a move
// may be repeated and never undoes what has happened at its target.
#pragma once

#include <cstdint>
#include <optional>

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

class Adopter {
 public:
  virtual ~Adopter() = default;
  // As a verb of Store: any thread, the record lives until the reply. Replies whether the copy was written.
  virtual bool adopt(const Record& copy, Reply<bool>& reply) = 0;
  // How often lists have passed over a record of this store that cannot be read. Whoever copies from it must
  // not lose them silently: what is missing at the target would run again (I5).
  virtual std::uint64_t passed_over() const = 0;
};

}  // namespace onceward
