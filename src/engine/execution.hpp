// Execution: leads one key's flight, from the first question to the store until the outcome is stored
// or given up. Owned by a detached coroutine, so that it can outlive the caller that began it (I11);
// runs on that caller's executor only.
#pragma once

#include "engine/engine.hpp"

namespace onceward {

class Engine::Execution {
 public:
  Execution(Engine& engine, Executor& executor, const Command& command, std::shared_ptr<Work> work);
  ~Execution();
  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* memory, std::size_t bytes) { release_frame(memory, bytes); }

  Flight& flight() { return flight_; }
  static Task<> fly(std::unique_ptr<Execution> self) { co_await self->lead(); }

 private:
  class Change;

  Task<> lead();
  // A claim's reply, or the outcome for everybody when there can be none.
  Task<std::variant<ClaimReply, Outcome>> obtain();
  // Before a claim: nothing, or what stands in its way.
  Task<std::optional<std::variant<ClaimReply, Outcome>>> admit();
  void leave_admission();
  Task<Result<ClaimReply>> claim();
  // What the caller is told when a mark of another record refused the claim.
  Task<Outcome> met(MarkHolder holder);
  Task<> watch();
  // An unknown outcome that this caller's retry makes us ask about, now.
  bool may_probe(const Record& record);
  Task<> probe(const Record& record);

  Task<> execute(Record record);
  Task<> answered(Record record, Answer answer);
  Task<> not_sent(Record record, NotSent nothing);
  Task<> no_answer(Record record, NoAnswer lost);
  Task<std::optional<Record>> decided_otherwise(const Fence& fence);
  Task<> listen_on(const Record& record);
  Task<> store_failed(const Record& record, const Evidence& seen);

  template <class Write>
  Task<Result<Record>> write_outcome(const Executed& told_if_it_fails, Write write);
  Task<Result<Record>> complete(CompleteRequest request);
  Task<Result<Record>> release(ReleaseRequest request);
  Task<Result<Record>> mark_unknown(UnknownRequest request);
  void finish(const News& followers, News leader);

  Engine& engine_;
  Executor& executor_;
  const Command command_;
  const std::shared_ptr<Work> work_;
  Flight flight_;
  LeaseKeeper keeper_;
  ClaimRequest request_;
  MonoTime asked_at_{};
  std::optional<OperationId> like_;  // whose mark the granted claim met
};

}  // namespace onceward
