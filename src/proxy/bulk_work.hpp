// BulkWork: the Work of a bulk request. It sends nothing itself: it runs its items through the engine, each
// under its own key and record, a bounded number at a time, and answers with what became of them. It owns
// everything it needs, because it may outlive the client's exchange. Only on its worker's thread.
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "http/upstream.hpp"
#include "ops/metrics.hpp"
#include "proxy/bulk_answer.hpp"
#include "proxy/bulk_board.hpp"
#include "proxy/bulk_caller.hpp"
#include "proxy/bulk_head.hpp"
#include "proxy/bulk_items.hpp"
#include "proxy/identity.hpp"

namespace onceward {

class BulkWork final : public Work {
 public:
  // What it works with; all of it outlives the work.
  struct Tools {
    Engine& engine;
    Executor& executor;
    const Clock& clock;
    BulkBoard& board;
    OperationMetrics& metrics;
    OperationMetrics& item_metrics;
    EngineObserver* observer;
    Prober* prober;
    std::function<bool()> may_begin;  // false: shutting down, no further item is begun
    // An item was taken for a duplicate of another operation (suspect).
    std::function<void(const OperationId& item, const OperationId& like)> suspected;
  };
  struct Request {
    std::shared_ptr<const Rules> rules;  // what `operation` belongs to
    const Operation* operation;
    std::shared_ptr<http::Upstream> upstream;
    Identity identity;
    std::string key;
    std::string body;  // `items` are views into it
    std::vector<BulkItem> items;
    std::unique_ptr<const BulkHead> head;
    Duration ttl{};  // the shortest of all claims of the key: what was done under it is remembered that long
    bool confirmed = false;  // whatever its items are like, they are meant as others (suspect)
  };

  BulkWork(Tools tools, std::unique_ptr<const Request> request);

  bool ready() override;
  Task<Result<Done>> prepare() override;
  void stand_down() override { lease_ = {}; }
  Task<Effect> execute(Grant grant) override;
  Task<std::optional<Answer>> late() override { co_return std::nullopt; }

  const std::string& body() const { return request_->body; }

  // Told once the work has begun, if it is still there.
  std::weak_ptr<BulkCaller> caller;

 private:
  struct AllEnded;

  Task<> lane();
  Task<> run_item(std::size_t index);
  void ended(std::size_t index, ItemResult result);
  void keep(ItemResult& place, ItemResult result);
  void look_for_suspicion(const Outcome& outcome) const;
  Command command_of(const BulkItem& item, const std::string& key) const;
  Effect effect() const;

  const Tools tools_;
  const std::unique_ptr<const Request> request_;
  const BulkRules& bulk_;
  http::Lease lease_;

  MonoTime too_old_at_{};  // from then on nothing is sent
  std::vector<ItemResult> results_;
  std::size_t body_bytes_ = 0;  // of all items that have ended
  bool without_bodies_ = false;
  std::unique_ptr<BulkBoard::Entry> entry_;
  std::size_t next_ = 0;
  std::size_t lanes_ = 0;
  std::coroutine_handle<> waiting_;
};

}  // namespace onceward
