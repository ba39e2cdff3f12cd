// The marks of the SQLite ledger (core/marks.hpp), one row each. Inside the transaction of whoever calls.
#pragma once

#include <functional>
#include <optional>

#include "core/marks.hpp"
#include "onceward/transaction.hpp"

namespace onceward::sqlite {

using LoadRecord = std::function<Result<std::optional<Record>>(const Scope&)>;

// Takes the marks of a claim that the record alone would grant, or makes it a refusal.
Result<ClaimStep> take_marks(api::SqlConnection& connection, ClaimStep step, const LoadRecord& load,
                             Timestamp now);
// What storing `next` does to its marks.
Result<Done> end_marks(api::SqlConnection& connection, const Record& next, Timestamp now);

}  // namespace onceward::sqlite
