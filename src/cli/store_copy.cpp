#include "cli/store_copy.hpp"

#include <algorithm>
#include <coroutine>
#include <optional>

#include "base/await.hpp"

namespace onceward::cli {
namespace {

constexpr std::size_t page_records = 1000;
constexpr std::size_t in_flight = 64;
constexpr std::size_t examples_max = 10;

// Several tasks that one waits for, all on one executor.
class Join {
 public:
  void add() { ++left_; }
  void done() {
    if (--left_ == 0 && waiting_) waiting_.resume();
  }
  bool await_ready() const { return left_ == 0; }
  void await_suspend(std::coroutine_handle<> waiting) { waiting_ = waiting; }
  void await_resume() const {}

 private:
  std::size_t left_ = 0;
  std::coroutine_handle<> waiting_;
};

struct Turns {
  Join all;
  std::size_t next = 0;
  std::optional<Error> failure;
};

template <class Item, class Handle>
Task<> take_turns(const std::vector<Item>& items, const Handle& handle, Turns& turns) {
  while (turns.next < items.size() && !turns.failure) {
    const Item& item = items[turns.next++];
    if (const Result<Done> handled = co_await handle(item); !handled) turns.failure = handled.error();
  }
  turns.all.done();  // last: it may resume the one that waits, who ends what this frame refers to
}

// Many in flight; the first failure ends it.
template <class Item, class Handle>
Task<Result<Done>> handle_all(const std::vector<Item>& items, Handle handle) {
  Turns turns;
  for (std::size_t lane = 0; lane < std::min(in_flight, items.size()); ++lane) {
    turns.all.add();
    spawn(take_turns(items, handle, turns));
  }
  co_await turns.all;
  if (turns.failure) co_return *turns.failure;
  co_return Done{};
}

void note(CopyCounts& counts, const OperationId& id) {
  if (counts.examples.size() < examples_max) counts.examples.push_back(to_string(id));
}

// One pass over the source: what is done with each record is the subclass's.
class Pass {
 public:
  Pass(Executor& executor, Store& from, CopyCounts& counts)
      : executor_(executor), from_(from), counts_(counts) {}
  virtual ~Pass() = default;

  Task<Result<Done>> run(const CopyProgress& progress) {
    ListRequest request;
    request.limit = page_records;
    do {
      Result<ListReply> page =
          co_await store_call<ListReply>(executor_, [&](auto& reply) { return from_.list(request, reply); });
      if (!page) co_return page.error();
      const Result<Done> handled =
          co_await handle_all(page->records, [this](const Record& seen) { return handle_seen(seen); });
      if (!handled) co_return handled;
      request.cursor = page->cursor;
      progress(counts_);
    } while (!request.cursor.empty());
    co_return Done{};
  }

 protected:
  virtual Task<Result<Done>> handle(const Record& record) = 0;

  Task<Result<Record>> lookup(Store& store, const Scope& scope) {
    co_return co_await store_call<Record>(executor_, [&](auto& reply) { return store.lookup(scope, reply); });
  }
  void note(const Record& record) { cli::note(counts_, record.operation_id); }

  Executor& executor_;
  Store& from_;
  CopyCounts& counts_;

 private:
  Task<Result<Done>> handle_seen(const Record& seen) {
    ++counts_.read;
    // A list need not carry answers.
    const Result<Record> whole = co_await lookup(from_, seen.scope);
    if (whole) co_return co_await handle(*whole);
    if (whole.error().code == Errc::not_found) {
      ++counts_.gone;
    } else if (whole.error().code == Errc::unreadable) {
      ++counts_.unreadable;
      note(seen);
    } else {
      co_return whole.error();
    }
    co_return Done{};
  }
};

class Copy final : public Pass {
 public:
  Copy(Executor& executor, Store& from, Adopter& to, CopyCounts& counts)
      : Pass(executor, from, counts), to_(to) {}

 private:
  Task<Result<Done>> handle(const Record& record) override {
    const bool held = record.state == State::claimed || record.state == State::processing;
    counts_.held += held;
    const Result<bool> taken =
        co_await store_call<bool>(executor_, [&](auto& reply) { return to_.adopt(record, reply); });
    if (!taken && taken.error().code == Errc::unreadable) {
      ++counts_.unreadable;
      note(record);
      co_return Done{};
    }
    if (!taken) co_return taken.error();
    ++(*taken ? counts_.written : counts_.present);
    co_return Done{};
  }

  Adopter& to_;
};

bool is_same(const Record& a, const Record& b) {
  const auto same = [](const auto& x, const auto& y) { return !x == !y && (!x || *x == *y); };
  return a.operation_id == b.operation_id && a.epoch == b.epoch && a.owner == b.owner && a.state == b.state &&
         a.fingerprint == b.fingerprint && a.expires_at == b.expires_at && same(a.request, b.request) &&
         same(a.response, b.response) && same(a.result, b.result);
}

class Comparison final : public Pass {
 public:
  Comparison(Executor& executor, Store& from, Store& to, CopyCounts& counts)
      : Pass(executor, from, counts), to_(to) {}

 private:
  Task<Result<Done>> handle(const Record& record) override {
    const Result<Record> copy = co_await lookup(to_, record.scope);
    const bool missing = !copy && copy.error().code == Errc::not_found;
    const bool damaged = !copy && copy.error().code == Errc::unreadable;
    if (!copy && !missing && !damaged) co_return copy.error();
    const bool fine = copy && (is_same(*copy, record) || supersedes(*copy, record) ||
                               copy->operation_id != record.operation_id);
    if (!fine) {
      ++counts_.different;
      note(record);
    }
    co_return Done{};
  }

  Store& to_;
};

class MarkPass {
 public:
  MarkPass(Executor& executor, Adopter& from, Adopter& to, bool only_ask, CopyCounts& counts)
      : executor_(executor), from_(from), to_(to), only_ask_(only_ask), counts_(counts) {}

  Task<Result<Done>> run() {
    ListMarksRequest request;
    request.limit = page_records;
    do {
      Result<ListMarksReply> page = co_await store_call<ListMarksReply>(
          executor_, [&](auto& reply) { return from_.list_marks(request, reply); });
      if (!page) co_return page.error();
      const Result<Done> handled =
          co_await handle_all(page->marks, [this](const MarkEntry& entry) { return handle(entry); });
      if (!handled) co_return handled;
      request.cursor = page->cursor;
    } while (!request.cursor.empty());
    co_return Done{};
  }

 private:
  Task<Result<Done>> handle(const MarkEntry& entry) {
    const AdoptMarkRequest request{entry, only_ask_};
    const Result<bool> taken =
        co_await store_call<bool>(executor_, [&](auto& reply) { return to_.adopt_mark(request, reply); });
    const bool is_unreadable = !taken && taken.error().code == Errc::unreadable;
    if (!taken && !is_unreadable) co_return taken.error();
    ++counts_.marks;
    counts_.unreadable += is_unreadable;
    const bool is_missing = taken && *taken;
    (only_ask_ ? counts_.different : counts_.marks_written) += is_missing;
    if (is_unreadable || (only_ask_ && is_missing)) note(counts_, entry.holder.operation_id);
    co_return Done{};
  }

  Executor& executor_;
  Adopter& from_;
  Adopter& to_;
  const bool only_ask_;
  CopyCounts& counts_;
};

}  // namespace

Task<Result<Done>> copy_store(Executor& executor, Store& from, Adopter& to, CopyCounts& counts,
                              CopyProgress progress) {
  Copy pass(executor, from, to, counts);
  co_return co_await pass.run(progress);
}

Task<Result<Done>> compare_stores(Executor& executor, Store& from, Store& to, CopyCounts& counts,
                                  CopyProgress progress) {
  Comparison pass(executor, from, to, counts);
  co_return co_await pass.run(progress);
}

Task<Result<Done>> copy_marks(Executor& executor, Adopter& from, Adopter& to, CopyCounts& counts) {
  MarkPass pass(executor, from, to, false, counts);
  co_return co_await pass.run();
}

Task<Result<Done>> compare_marks(Executor& executor, Adopter& from, Adopter& to, CopyCounts& counts) {
  MarkPass pass(executor, from, to, true, counts);
  co_return co_await pass.run();
}

}  // namespace onceward::cli
