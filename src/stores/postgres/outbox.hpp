// The outbox as statements and the meaning of their rows. Pure; any thread.
#pragma once

#include "onceward/outbox_store.hpp"
#include "stores/postgres/statement.hpp"
#include "stores/postgres/verbs.hpp"

namespace onceward::postgres {

// What the relay asks again and again: an index holds it in the order in which it is wanted, so that its
// cost does not depend on how many events wait, or wait for their time.
extern const char* const fetch_events_sql;

Statement fetch_events_statement(const FetchEventsRequest& request, TestTime now);
Statement settle_events_statement(const SettleEventsRequest& request, TestTime now);
// Errc::invalid: the cursor is not one of this store's.
Result<Statement> list_events_statement(const ListEventsRequest& request);
Statement retry_events_statement(const RetryEventsRequest& request, TestTime now);
Statement outbox_stats_statement();

struct FetchedEvents {
  std::vector<PendingEvent> events;
  std::size_t held_up = 0;  // cannot be read, or of the same scope and behind one that cannot: order is kept
};
FetchedEvents read_fetched_events(const PGresult& result, std::size_t limit);
Result<std::size_t> read_settled_events(const PGresult& result);
Result<ListEventsReply> read_listed_events(const PGresult& result, const ListEventsRequest& request);
Result<std::size_t> read_retried_events(const PGresult& result);
Result<OutboxStats> read_outbox_stats(const PGresult& result);

}  // namespace onceward::postgres
