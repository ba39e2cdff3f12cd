// Audit: who changed what, when and why, kept in the store itself. Written ahead: an entry is claimed, with
// what is about to be done, before the change, and completed with the outcome after it. So nothing changes
// without a trace, and an entry that stayed open says that its change may or may not have been made.
// An entry is an ordinary record of a reserved operation: every store can keep it. On the API's worker.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "base/task.hpp"
#include "onceward/store.hpp"

namespace onceward {

inline constexpr std::string_view audit_operation = "onceward.audit";

struct AuditQuery {
  std::size_t limit = 100;
  std::optional<OperationId> before;  // the last entry of the page before; entries come newest first
  std::optional<std::string> about;   // only this operation id
};

struct AuditPage {
  boost::json::array entries;
  std::optional<OperationId> next;  // where the next page begins
};

class Audit {
 public:
  Audit(Store& store, const Clock& clock, Random& random) : store_(store), clock_(clock), random_(random) {}

  // `entry` says actor, action and what it is about; the time is added. Fails when it could not be
  // written: then nothing may be changed.
  Task<Result<Record>> begin(Executor& executor, boost::json::object entry, Duration ttl);
  // applied, refused, failed or unknown, and details. An entry that cannot be completed stays open.
  Task<> end(Executor& executor, Record open, std::string_view outcome, boost::json::object details);

  Task<Result<AuditPage>> list(Executor& executor, AuditQuery query);

 private:
  Store& store_;
  const Clock& clock_;
  Random& random_;
  Timestamp last_{};  // of the entry before: no two of this process have the same place in the order
};

}  // namespace onceward
