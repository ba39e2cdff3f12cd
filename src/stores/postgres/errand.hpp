// Errand: one statement on its way to the server and the reply that waits for its answer. Made by the thread
// that asks, then owned by the I/O thread, which ends it exactly once: answered or failed.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "onceward/store.hpp"
#include "stores/postgres/statement.hpp"

namespace onceward::postgres {

// Replies that are ready, posted with one wake-up per executor.
class ReplyBatch {
 public:
  ReplyBatch() = default;
  ReplyBatch(const ReplyBatch&) = delete;
  ReplyBatch& operator=(const ReplyBatch&) = delete;
  ~ReplyBatch() { post(); }

  void add(Executor& executor, Completion& reply) {
    reply.next = nullptr;
    for (Chain& chain : chains_) {
      if (chain.executor != &executor) continue;
      chain.last->next = &reply;
      chain.last = &reply;
      return;
    }
    chains_.push_back({&executor, &reply, &reply});
  }
  void post() {
    for (const Chain& chain : std::exchange(chains_, {})) chain.executor->post(chain.first);
  }

 private:
  struct Chain {
    Executor* executor;
    Completion* first;
    Completion* last;
  };
  std::vector<Chain> chains_;
};

class Pool;

class Errand : public Completion {
 public:
  Errand(Statement what, bool is_chore) : statement(std::move(what)), chore(is_chore) {}
  virtual ~Errand() = default;

  // The rows; what they mean is known now, but counts only when the server has committed (finish).
  virtual void answer(const PGresult& result) = 0;
  virtual void fail(Error error) = 0;
  virtual void finish(ReplyBatch& batch) = 0;

  Statement statement;
  Pool* pool = nullptr;
  MonoTime deadline{};
  const bool chore;  // not on the path of a request: may take long, must not hold up those that are
};

template <class T>
class ReplyErrand final : public Errand {
 public:
  using Read = std::function<Result<T>(const PGresult&)>;
  ReplyErrand(Statement what, bool is_chore, Reply<T>& reply, Read read)
      : Errand(std::move(what), is_chore), reply_(reply), read_(std::move(read)) {}
  void answer(const PGresult& result) override { reply_.value = read_(result); }
  void fail(Error error) override { reply_.value = std::move(error); }
  void finish(ReplyBatch& batch) override { batch.add(*reply_.executor, reply_); }

 private:
  Reply<T>& reply_;
  Read read_;
};

}  // namespace onceward::postgres
