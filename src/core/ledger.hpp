// Ledger: one connection of the caller's to its own database, as the few steps that running a command inside
// a transaction there takes. Whatever a step writes becomes visible when the transaction commits, together
// with the caller's rows, or never. Blocks; for as long as a command runs it belongs to that command's
// thread.
//
// Errc::conflict: another transaction is in the way and did not end in time; nothing was written.
#pragma once

#include "onceward/store.hpp"

namespace onceward {

class Ledger {
 public:
  virtual ~Ledger() = default;

  // Begins a transaction, or marks where we are in the one that the caller has begun.
  virtual Result<Done> enter() = 0;
  // Waits at most so long for another transaction that claims the same key.
  virtual Result<ClaimReply> claim(const ClaimRequest& request, Duration wait) = 0;
  virtual Result<Record> complete(const CompleteRequest& request) = 0;
  // Commits what enter() began; a transaction of the caller's stays open, and the caller's to commit. An
  // error of a commit does not tell whether it happened (I10).
  virtual Result<Done> leave() = 0;
  // Undoes everything since enter(). If even that fails the connection is gone, and the transaction with it.
  virtual void undo() = 0;
};

}  // namespace onceward
