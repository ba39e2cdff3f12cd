// What is not on the path of a request, as statements and the meaning of their rows. Pure; any thread.
#pragma once

#include <atomic>

#include "core/record_counts.hpp"
#include "onceward/store.hpp"
#include "stores/postgres/statement.hpp"
#include "stores/postgres/verbs.hpp"

namespace onceward::postgres {

// Errc::invalid: the cursor is not one of this store's.
Result<Statement> list_statement(const ListRequest& request, TestTime now);
Result<Statement> purge_statement(const PurgeRequest& request, TestTime now);
Statement stats_statement(TestTime now);
Statement count_statement(TestTime now);
Statement watch_statement(const Scope& scope);

// `passed_over` counts rows that cannot be read.
Result<ListReply> read_list(const PGresult& result, const ListRequest& request,
                            std::atomic<std::uint64_t>& passed_over);
Result<PurgeReply> read_purge(const PGresult& result, const PurgeRequest& request);
Result<StoreStats> read_stats(const PGresult& result);
Result<std::vector<StateCount>> read_counts(const PGresult& result);
bool read_watch(const PGresult& result);  // false: the record already left

}  // namespace onceward::postgres
