// The outbox: a script per question, on the I/O thread.
#include <algorithm>
#include <charconv>
#include <set>

#include "base/hex.hpp"
#include "core/event_queue.hpp"
#include "stores/redis/store_impl.hpp"

namespace onceward::redis {
namespace {

constexpr std::size_t page_max = 10'000;
// A script holds up everyone else on the server.
constexpr std::uint64_t retried_at_once = 1000;

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool read_time(std::string_view text, Timestamp& out) {
  std::int64_t ms = 0;
  const bool read = read_number(text, ms);
  out = Timestamp(Duration(ms));
  return read;
}

bool read_field(std::string_view name, std::string_view value, PendingEvent& event) {
  if (name == "sequence") return read_number(value, event.sequence);
  if (name == "scope") return from_hex(value, event.scope.data);
  if (name == "type") return event.event.type = value, true;
  if (name == "content_type") return event.event.content_type = value, true;
  if (name == "payload") return event.event.payload = value, true;
  if (name == "created_at") return read_time(value, event.created_at);
  if (name == "due_at") return read_time(value, event.due_at);
  if (name == "attempts") return read_number(value, event.attempts);
  if (name == "last_error") return event.last_error = value, true;
  if (name == "set_aside") return event.set_aside = value == "yes", true;
  return true;  // a person's note
}

constexpr std::array<std::string_view, 8> needed = {"sequence", "scope",      "type",   "content_type",
                                                    "payload",  "created_at", "due_at", "attempts"};

// The name of an event, "<16 digits> <id>", and its fields. False: it cannot be read; what is known is its
// place.
bool read_event(const redisReply& reply, std::size_t partition, PendingEvent& event) {
  constexpr std::size_t digits = 16;
  const auto elements = elements_of(reply);
  if (elements.empty()) return false;
  const std::string_view name = text_of(*elements[0]);
  std::size_t found = 0;
  bool whole = true;
  for (std::size_t at = 1; at + 1 < elements.size(); at += 2) {
    const std::string_view field = text_of(*elements[at]);
    if (std::ranges::find(needed, field) != needed.end()) ++found;
    whole = read_field(field, text_of(*elements[at + 1]), event) && whole;
  }
  whole = whole && found == needed.size() && outbox_partition_of(event.scope) == partition;
  if (name.size() <= digits || !read_number(name.substr(0, digits), event.sequence)) return false;
  event.event.id = name.substr(digits + 1);
  if (outbox_partition_of(event.scope) != partition) {
    event.scope = {};
    event.scope.data[0] = static_cast<std::uint8_t>(partition);
  }
  return whole;
}

// What may be sent of these, at most `limit`. Order within a scope: nothing passes one that cannot be read.
std::vector<PendingEvent> read_due(const redisReply& reply, std::size_t partition, std::size_t limit) {
  std::vector<PendingEvent> due;
  std::set<Scope> held_up;
  for (const redisReply* one : elements_of(reply)) {
    if (due.size() == limit) break;
    PendingEvent event;
    if (!read_event(*one, partition, event)) {
      held_up.insert(event.scope);
    } else if (!held_up.contains(event.scope)) {
      due.push_back(std::move(event));
    }
  }
  return due;
}

// A word, and numbers.
template <std::size_t N>
Result<std::array<std::uint64_t, N>> read_numbers(const redisReply& reply, std::string_view word) {
  const auto elements = elements_of(reply);
  std::array<std::uint64_t, N> numbers{};
  if (word_of(reply) == "stale") return Error{Errc::stale, "the relay's claim is not the current one"};
  bool read = word_of(reply) == word && elements.size() == N + 1;
  for (std::size_t i = 0; read && i < N; ++i) read = read_number(text_of(*elements[i + 1]), numbers[i]);
  if (!read) return Error{Errc::unavailable, "the reply is not one of our scripts'"};
  return numbers;
}

}  // namespace

Arguments StoreImpl::outbox_arguments() const {
  Arguments arguments;
  arguments.add(clock_ ? clock_->now().time_since_epoch() : Duration{});
  return arguments;
}

bool StoreImpl::fetch_events(const FetchEventsRequest& request, Reply<std::vector<PendingEvent>>& reply) {
  return begin(reply, [this, &request] { return do_fetch(request); });
}
bool StoreImpl::settle_events(const SettleEventsRequest& request, Reply<std::size_t>& reply) {
  return begin(reply, [this, &request] { return do_settle(request); });
}
bool StoreImpl::list_events(const ListEventsRequest& request, Reply<ListEventsReply>& reply) {
  return begin(reply, [this, &request] { return do_list(request); });
}
bool StoreImpl::retry_events(const RetryEventsRequest& request, Reply<std::size_t>& reply) {
  return begin(reply, [this, &request] { return do_retry(request); });
}
bool StoreImpl::outbox_stats(Reply<OutboxStats>& reply) {
  return begin(reply, [this] { return do_outbox_stats(); });
}

Task<Result<std::vector<PendingEvent>>> StoreImpl::do_fetch(const FetchEventsRequest& request) {
  const std::size_t limit = std::clamp<std::size_t>(request.limit, 1, page_max);
  // More than the limit only when some of what came first cannot be sent.
  for (std::size_t asked = limit;; asked = std::min(asked * 4, page_max)) {
    Arguments arguments = outbox_arguments();
    arguments.add(std::uint64_t{request.partition}).add(std::uint64_t{asked});
    const Result<Answer> answer = co_await run(scripts().fetch_events, outbox_key(), arguments);
    if (!answer) co_return answer.error();
    std::vector<PendingEvent> events = read_due(*answer->reply, request.partition, limit);
    if (events.size() < limit && elements_of(*answer->reply).size() == asked && asked < page_max) continue;
    // Within one scope it is the order that they have; between scopes the order of writing is the fairer one.
    std::ranges::sort(events, {}, &PendingEvent::sequence);
    co_return std::move(events);
  }
}

Task<Result<std::size_t>> StoreImpl::do_settle(const SettleEventsRequest& request) {
  Arguments arguments = arguments_for(to_hex(request.relay.scope.data));
  arguments.add(request.relay).add(std::uint64_t{request.delivered.size()});
  for (const std::string& id : request.delivered) arguments.add(std::string_view(id));
  arguments.add(std::uint64_t{request.failed.size()});
  for (const FailedEvent& failed : request.failed) {
    arguments.add(std::string_view(failed.id)).add(std::string_view(failed.error));
    arguments.add(failed.retry_after).add(failed.set_aside);
  }
  const Result<Answer> answer =
      co_await run(scripts().settle_events, key_of(url_.prefix, request.relay.scope), arguments);
  if (!answer) co_return answer.error();
  const auto settled = read_numbers<1>(*answer->reply, "settled");
  if (!settled) co_return settled.error();
  co_return static_cast<std::size_t>((*settled)[0]);
}

Task<Result<ListEventsReply>> StoreImpl::do_list(const ListEventsRequest& request) {
  Result<EventPosition> position = parse_event_cursor(request.cursor);
  if (!position) co_return position.error();
  const std::size_t limit = std::clamp<std::size_t>(request.limit, 1, page_max);
  ListEventsReply page;
  for (; position->partition < outbox_partitions; position = EventPosition{position->partition + 1, 0}) {
    Arguments arguments = outbox_arguments();
    arguments.add(std::uint64_t{position->partition}).add(position->after + 1);
    // One more than fits tells whether there is more.
    arguments.add(std::uint64_t{limit - page.events.size() + 1}).add(request.set_aside_only);
    const Result<Answer> answer = co_await run(scripts().list_events, outbox_key(), arguments);
    if (!answer) co_return answer.error();
    for (const redisReply* one : elements_of(*answer->reply)) {
      if (page.events.size() == limit) {
        page.cursor = event_cursor(page.events.back());
        co_return std::move(page);
      }
      PendingEvent event;
      if (!read_event(*one, position->partition, event)) event.last_error = "it cannot be read";
      page.events.push_back(std::move(event));
    }
  }
  co_return std::move(page);
}

Task<Result<std::size_t>> StoreImpl::do_retry(const RetryEventsRequest& request) {
  std::size_t total = 0;
  for (;;) {
    Arguments arguments = outbox_arguments();
    arguments.add(request.ids.empty() ? retried_at_once : 0);
    for (const std::string& id : request.ids) arguments.add(std::string_view(id));
    const Result<Answer> answer = co_await run(scripts().retry_events, outbox_key(), arguments);
    if (!answer) co_return answer.error();
    const auto retried = read_numbers<1>(*answer->reply, "retried");
    if (!retried) co_return retried.error();
    total += static_cast<std::size_t>((*retried)[0]);
    if (!request.ids.empty() || (*retried)[0] < retried_at_once) co_return total;
  }
}

Task<Result<OutboxStats>> StoreImpl::do_outbox_stats() {
  const Arguments arguments = outbox_arguments();
  const Result<Answer> answer = co_await run(scripts().outbox_stats, outbox_key(), arguments);
  if (!answer) co_return answer.error();
  const auto numbers = read_numbers<3>(*answer->reply, "stats");
  if (!numbers) co_return numbers.error();
  co_return OutboxStats{(*numbers)[0], (*numbers)[1],
                        Timestamp(Duration(static_cast<std::int64_t>((*numbers)[2])))};
}

}  // namespace onceward::redis
