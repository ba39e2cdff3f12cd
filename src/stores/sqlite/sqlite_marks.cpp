#include "stores/sqlite/sqlite_marks.hpp"

#include <algorithm>

namespace onceward::sqlite {
namespace {

using api::SqlBytes;
using api::SqlConnection;
using api::SqlValue;

SqlBytes bytes_of(const Scope& scope) {
  return {{reinterpret_cast<const char*>(scope.data.data()), scope.data.size()}};
}

Error damaged() { return {Errc::unreadable, "stored mark: a column has a value that no mark has"}; }

Result<std::optional<MarkEntry>> load_entry(SqlConnection& connection, const Mark& mark) {
  const auto found = connection.run("SELECT scope, operation_id, until FROM onceward_marks WHERE mark = ?1",
                                    {bytes_of(mark.scope)});
  if (!found) return found.error();
  if (found->rows.empty()) return std::optional<MarkEntry>();
  const std::vector<SqlValue>& row = found->rows[0];
  const auto* scope = std::get_if<SqlBytes>(&row.at(0));
  const auto* id = std::get_if<std::string>(&row.at(1));
  const std::optional<OperationId> operation = id ? operation_id_from_string(*id) : std::nullopt;
  MarkEntry entry;
  if (!scope || scope->bytes.size() != entry.holder.scope.data.size() || !operation) return damaged();
  std::ranges::copy(scope->bytes, entry.holder.scope.data.begin());
  entry.scope = mark.scope;
  entry.holder.kind = mark.kind;
  entry.holder.operation_id = *operation;
  if (const auto* until = std::get_if<std::int64_t>(&row.at(2))) entry.until = Timestamp(Duration(*until));
  return std::optional(entry);
}

Result<Done> save_entry(SqlConnection& connection, const MarkEntry& entry) {
  const auto saved = connection.run(
      "INSERT INTO onceward_marks (mark, scope, operation_id, until) VALUES (?1, ?2, ?3, ?4) ON CONFLICT "
      "(mark) "
      "DO UPDATE SET scope = excluded.scope, operation_id = excluded.operation_id, until = excluded.until",
      {bytes_of(entry.scope), bytes_of(entry.holder.scope), to_string(entry.holder.operation_id),
       entry.until ? SqlValue(std::int64_t{entry.until->time_since_epoch().count()}) : SqlValue()});
  return saved ? Result<Done>(Done{}) : Result<Done>(saved.error());
}

struct Found {
  std::optional<MarkEntry> entry;
  std::optional<Record> holder;
};

}  // namespace

Result<ClaimStep> take_marks(SqlConnection& connection, ClaimStep step, const LoadRecord& load,
                             Timestamp now) {
  if (!step.next || step.next->request->marks.empty()) return step;
  const std::shared_ptr<const RequestInfo> request = step.next->request;
  std::vector<Found> found(request->marks.size());
  std::vector<MarkSeen> seen;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Result<std::optional<MarkEntry>> entry = load_entry(connection, request->marks[i]);
    if (!entry) return entry.error();
    found[i].entry = std::move(*entry);
    if (found[i].entry) {
      Result<std::optional<Record>> holder = load(found[i].entry->holder.scope);
      if (!holder) return holder.error();
      found[i].holder = std::move(*holder);
    }
    seen.push_back({&request->marks[i], found[i].entry ? &*found[i].entry : nullptr,
                    found[i].holder ? &*found[i].holder : nullptr});
  }
  MarkedClaim marked = onceward::take_marks(std::move(step), seen, now);
  for (const MarkEntry& entry : marked.taken)
    if (const Result<Done> saved = save_entry(connection, entry); !saved) return saved.error();
  return std::move(marked.step);
}

Result<Done> end_marks(SqlConnection& connection, const Record& next, Timestamp now) {
  if (!ends_marks(next)) return Done{};
  for (const Mark& mark : next.request->marks) {
    const Result<std::optional<MarkEntry>> entry = load_entry(connection, mark);
    if (!entry) return entry.error();
    const MarkStep step = end_mark(mark, *entry ? &**entry : nullptr, next, now);
    if (step.change == MarkChange::write) {
      if (const Result<Done> saved = save_entry(connection, step.entry); !saved) return saved;
    } else if (step.change == MarkChange::drop) {
      const auto dropped =
          connection.run("DELETE FROM onceward_marks WHERE mark = ?1", {bytes_of(mark.scope)});
      if (!dropped) return dropped.error();
    }
  }
  return Done{};
}

}  // namespace onceward::sqlite
