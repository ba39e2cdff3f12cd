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
      co_await handle_page(page->records);
      if (failure_) co_return *failure_;
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
  void note(const Record& record) {
    if (counts_.examples.size() < examples_max) counts_.examples.push_back(to_string(record.operation_id));
  }

  Executor& executor_;
  Store& from_;
  CopyCounts& counts_;

 private:
  Task<> handle_page(const std::vector<Record>& listed) {
    Join all;
    std::size_t next = 0;
    for (std::size_t lane = 0; lane < std::min(in_flight, listed.size()); ++lane) {
      all.add();
      spawn(take_turns(listed, next, all));
    }
    co_await all;
  }

  Task<> take_turns(const std::vector<Record>& listed, std::size_t& next, Join& all) {
    while (next < listed.size() && !failure_) {
      const Record& seen = listed[next++];
      ++counts_.read;
      // A list need not carry answers.
      const Result<Record> whole = co_await lookup(from_, seen.scope);
      if (!whole && whole.error().code == Errc::not_found) {
        ++counts_.gone;
      } else if (!whole && whole.error().code == Errc::unreadable) {
        ++counts_.unreadable;
        note(seen);
      } else if (!whole) {
        failure_ = whole.error();
      } else if (const Result<Done> handled = co_await handle(*whole); !handled) {
        failure_ = handled.error();
      }
    }
    all.done();  // last: it may resume the one that waits, who ends what this frame refers to
  }

  std::optional<Error> failure_;
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

}  // namespace onceward::cli
