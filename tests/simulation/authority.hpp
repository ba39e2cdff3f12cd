// Authority: the one store that all simulated processes share, `transition` and the rule of marks over maps
// with its own clock. It outlives every crash of an engine. Reached only through the processes' faulty ports.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/marks.hpp"
#include "simulation/judge.hpp"

namespace onceward::simulation {

class Authority {
 public:
  Authority(World& world, Judge& judge, const Clock& clock) : world_(world), judge_(judge), clock_(clock) {}

  Result<ClaimReply> claim(ClaimRequest request);
  template <class Event>
  Result<Record> apply(const Scope& scope, const Event& event) {
    if (unreadable_.contains(scope)) return unreadable();
    Step step = transition(find(scope), event, clock_.now());
    if (step.next) {
      end_marks(*step.next);
      put(*step.next, false);
    }
    return std::move(step.reply);
  }
  Result<Record> complete(const CompleteRequest& request);
  Result<Record> release(const ReleaseRequest& request);
  Result<Record> lookup(const Scope& scope) const;
  std::vector<Record> list(State state) const;
  void purge(bool final_too, const std::string& tenant);

  bool is_down() const { return world_.now() < down_until_; }
  void crash(Nanoseconds for_how_long);
  void damage(const Scope& scope, Nanoseconds for_how_long);
  void heal();
  std::vector<Scope> scopes() const;
  // Called with the scope whenever a record has left claimed or processing.
  std::function<void(const Scope&)> left_progress;

 private:
  struct Change {
    Nanoseconds at;
    Scope scope;
    std::optional<Record> before;
  };

  static Error unreadable() { return {Errc::unreadable, "damaged"}; }
  const Record* find(const Scope& scope) const {
    const auto found = records_.find(scope);
    return found == records_.end() ? nullptr : &found->second;
  }
  const MarkEntry* find_mark(const Scope& scope) const {
    const auto found = marks_.find(scope);
    return found == marks_.end() ? nullptr : &found->second;
  }
  Result<MarkedClaim> take(ClaimStep step, const std::vector<Mark>& marks) const;
  void put_mark(const MarkEntry& entry) { marks_.insert_or_assign(entry.scope, entry); }
  void end_marks(const Record& next);
  void put(const Record& next, bool forward);
  void remove(const Scope& scope, bool by_operator);

  World& world_;
  Judge& judge_;
  const Clock& clock_;
  std::map<Scope, Record> records_;
  std::map<Scope, MarkEntry> marks_;
  std::set<Scope> unreadable_;
  Nanoseconds down_until_{};
  std::vector<Change> unsynced_;  // only a store that does not sync has any
};

}  // namespace onceward::simulation
