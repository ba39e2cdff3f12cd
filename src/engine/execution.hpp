// Execution: leads one key's flight, from the first question to the store until the outcome is stored
// or given up. Owned by a detached coroutine, so that it can outlive the caller that began it (I11);
// runs on that caller's executor only.
#pragma once

#include "engine/engine.hpp"
#include "engine/kept_reply.hpp"

namespace onceward {

class Engine::Execution {
 public:
  // `now`: not later than anything that it will ask the store.
  Execution(Engine& engine, Executor& executor, const Command& command, std::shared_ptr<Work> work,
            MonoTime now);
  ~Execution();
  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* memory, std::size_t bytes) { release_frame(memory, bytes); }

  Flight& flight() { return flight_; }
  // Takes the ownership of this object. The usual way of a request is written out in it, because each
  // coroutine that it would call costs as much as what is done in it; what is not usual has its own.
  Task<> lead();

 private:
  class Change;
  template <class T, class Start>
  class Timed;

  // Calls a store verb and tells the observer how long it took.
  template <class T, class Start>
  auto timed(KeptReply<T>& reply, std::string_view verb, MonoTime began, Start start);
  auto timed_claim(MonoTime began);
  auto timed_lookup(const Scope& scope);
  auto timed_complete(const CompleteRequest& request);

  // Before a claim: connects, and asks the quota. False: no claim is made, and claimed_ or failure_ says why.
  Task<bool> get_ready();
  Task<bool> look();
  Task<bool> admit();
  void leave_admission();
  // The claim's fate is not known.
  Task<> claim_again();
  // After a claim that was not granted: whether that was all, and everybody has been told.
  bool settles();
  // Waits until the key may have changed. False: everybody has been told.
  Task<bool> waits();
  // What the caller is told when a mark of another record refused the claim.
  Task<Outcome> met(MarkHolder holder);
  Task<> watch();
  // An unknown outcome that this caller's retry makes us ask about, now.
  bool may_probe(const Record& record);
  Task<> probe(const Record& record);

  void begin_execution();
  Task<> lease_lost();
  // Ends that are not usual; `tried`: what the first attempt to complete came to, if there was one.
  Task<> ended(Effect effect, std::optional<Result<Record>> tried);
  Task<> answered(Record record, Answer answer, std::optional<Result<Record>> tried);
  Task<> not_sent(Record record, NotSent nothing);
  Task<> no_answer(Record record, NoAnswer lost);
  Task<std::optional<Record>> decided_otherwise(const Fence& fence);
  Task<> listen_on(const Record& record);
  Task<> store_failed(const Record& record, const Evidence& seen);

  // `written`: what the first attempt came to.
  template <class Write>
  Task<Result<Record>> write_outcome(const Executed& told_if_it_fails, Result<Record> written, Write write);
  Task<Result<Record>> complete(CompleteRequest request);
  Task<Result<Record>> release(ReleaseRequest request);
  Task<Result<Record>> mark_unknown(UnknownRequest request);
  template <class As, class Told>
  void finish(const Ending& followers, Told&& leader);

  Engine& engine_;
  Executor& executor_;
  const Command command_;
  const std::shared_ptr<Work> work_;
  Flight flight_;
  LeaseKeeper keeper_;
  ClaimRequest request_;
  MonoTime asked_at_;  // not later than the claim
  MonoTime hold_until_{};
  CompleteRequest outcome_;
  KeptReply<ClaimReply> claimed_;
  KeptReply<Record> record_;         // of any other verb
  std::optional<Outcome> failure_;   // for everybody, when nothing can be claimed
  std::optional<OperationId> like_;  // whose mark the granted claim met
};

}  // namespace onceward
