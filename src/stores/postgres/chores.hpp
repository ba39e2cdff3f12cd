// What is not on the path of a request, as statements and the meaning of their rows. Pure; any thread.
#pragma once

#include <atomic>

#include "core/adoption.hpp"
#include "core/record_counts.hpp"
#include "onceward/store.hpp"
#include "stores/postgres/statement.hpp"
#include "stores/postgres/verbs.hpp"

namespace onceward::postgres {

// Errc::invalid: the cursor is not one of this store's.
Result<Statement> list_statement(const ListRequest& request, TestTime now);
Result<Statement> purge_statement(const PurgeRequest& request, TestTime now);
Result<Statement> list_marks_statement(const ListMarksRequest& request, TestTime now);
Statement adopt_mark_statement(const AdoptMarkRequest& request, TestTime now);
Statement stats_statement(TestTime now);
Statement count_statement(TestTime now);
Statement watch_statement(const Scope& scope);

// `passed_over` counts rows that cannot be read.
Result<ListReply> read_list(const PGresult& result, const ListRequest& request,
                            std::atomic<std::uint64_t>& passed_over);
Result<ListMarksReply> read_marks(const PGresult& result, const ListMarksRequest& request);
Result<bool> read_adopted_mark(const PGresult& result);
Result<PurgeReply> read_purge(const PGresult& result, const PurgeRequest& request);
Result<StoreStats> read_stats(const PGresult& result);
Result<std::vector<StateCount>> read_counts(const PGresult& result);
bool read_watch(const PGresult& result);  // false: the record already left

}  // namespace onceward::postgres
