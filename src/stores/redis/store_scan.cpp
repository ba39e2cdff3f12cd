// The verbs that concern many records: they go through the keys with SCAN, a chunk at a time, and let a
// script decide about each record alone. SCAN may show a record twice and never misses one that stays.
#include <algorithm>
#include <charconv>

#include "base/hex.hpp"
#include "core/transition.hpp"
#include "stores/redis/store_impl.hpp"

namespace onceward::redis {
namespace {

constexpr std::size_t scan_count_max = 1000;
// A page ends after so many records even when few of them match, so that no verb takes for ever.
constexpr std::size_t looked_at_max = 100'000;
constexpr std::size_t sample_records = 100;

bool is_cursor_number(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789") == text.npos;
}

constexpr std::string_view mark_word = "mark:";

// What lookup_mark.lua replied of a mark; nothing: it cannot be read.
std::optional<MarkEntry> mark_in(const redisReply& reply, std::string_view mark) {
  const auto parts = elements_of(reply);
  if (parts.size() != 5 || text_of(*parts[0]) != "mark") return std::nullopt;
  MarkEntry entry;
  const std::string_view kind = text_of(*parts[1]);
  entry.holder.kind = kind == "suspect" ? MarkKind::suspect : MarkKind::unique;
  const std::optional<OperationId> id = operation_id_from_string(text_of(*parts[3]));
  const std::string_view until = text_of(*parts[4]);
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(until.data(), until.data() + until.size(), ms);
  const bool is_number = error == std::errc{} && end == until.data() + until.size();
  if (!from_hex(mark, entry.scope.data) || !from_hex(text_of(*parts[2]), entry.holder.scope.data) || !id ||
      !is_number)
    return std::nullopt;
  entry.holder.operation_id = *id;
  entry.until = Timestamp(Duration(ms));
  return entry;
}

std::string filter(const std::optional<std::string>& wanted) {
  return wanted ? "=" + *wanted : std::string();
}

}  // namespace

// "<server>.<SCAN's cursor>.<key's tag, or nothing>"
std::string to_cursor(const ScanPosition& position) {
  return std::to_string(position.primary) + "." + position.scan + "." + position.after;
}

std::optional<ScanPosition> from_cursor(std::string_view text) {
  ScanPosition position;
  if (text.empty()) return position;
  const std::size_t first = text.find('.');
  const std::size_t second = text.find('.', first + 1);
  if (first == text.npos || second == text.npos) return std::nullopt;
  const std::string_view primary = text.substr(0, first);
  position.scan = text.substr(first + 1, second - first - 1);
  position.after = text.substr(second + 1);
  if (!is_cursor_number(primary) || primary.size() > 5 || !is_cursor_number(position.scan))
    return std::nullopt;
  std::from_chars(primary.data(), primary.data() + primary.size(), position.primary);
  return position;
}

// The keys of one chunk, each once and in order; `cursor` moves on.
Task<Result<std::vector<std::string>>> StoreImpl::scan(Connection& primary, std::string& cursor,
                                                       std::size_t count, const std::string& pattern) {
  Call call;
  call.deadline = deadline();
  append_command(call.bytes, {"SCAN", cursor, "MATCH", pattern, "COUNT", std::to_string(count)});
  co_await router_.ask_primary(primary, call);
  if (!call.reply) co_return call.reply.error();
  const auto parts = elements_of(**call.reply);
  if (parts.size() != 2 || !is_cursor_number(text_of(*parts[0])))
    co_return Error{Errc::unavailable, "SCAN: " + std::string(text_of(**call.reply))};
  cursor = text_of(*parts[0]);
  std::vector<std::string> keys;
  for (const redisReply* key : elements_of(*parts[1])) keys.emplace_back(text_of(*key));
  std::ranges::sort(keys);
  const auto twice = std::ranges::unique(keys);
  keys.erase(twice.begin(), twice.end());
  co_return std::move(keys);
}

// What matches in one chunk, in the order of its keys.
Task<Result<std::vector<StoreImpl::Listed>>> StoreImpl::list_chunk(const ListRequest& request,
                                                                   Connection& primary, std::string& cursor,
                                                                   std::size_t count) {
  const auto keys = co_await scan(primary, cursor, count, pattern_);
  if (!keys) co_return keys.error();
  Arguments arguments = arguments_for("");
  arguments.add("").add(true);
  const auto replies = co_await run_all(primary, scripts().lookup, *keys, arguments);
  if (!replies) co_return replies.error();
  std::vector<Listed> found;
  for (std::size_t i = 0; i < keys->size(); ++i) {
    Result<Record> record = record_in(*(*replies)[i], Bodies::left_out);
    // What cannot be read is named by a lookup of it.
    if (!record && record.error().code == Errc::unreadable) ++passed_over_;
    if (record && matches(request, *record))
      found.push_back({(*keys)[i].substr(url_.prefix.size()), std::move(*record)});
  }
  co_return std::move(found);
}

Task<Result<ListReply>> StoreImpl::do_list(const ListRequest& request) {
  std::optional<ScanPosition> position = from_cursor(request.cursor);
  if (!position) co_return Error{Errc::invalid, "the cursor is not one of this store's"};
  if (const auto trouble = router_.trouble()) co_return Error{Errc::refused, trouble->message};
  const std::vector<Connection*> primaries = router_.primaries();
  const bool filtered =
      request.state || request.operation || request.tenant || request.updated_before || request.reference;
  const std::size_t limit = std::max<std::size_t>(request.limit, 1);
  std::size_t count = filtered ? scan_count_max : std::min(limit, scan_count_max);
  if (!position->after.empty()) count = 1;  // the same bucket again
  ListReply page;
  for (std::size_t looked_at = 0; position->primary < primaries.size() && looked_at < looked_at_max;) {
    std::string next = position->scan;
    Result<std::vector<Listed>> chunk =
        co_await list_chunk(request, *primaries[position->primary], next, count);
    if (!chunk) co_return chunk.error();
    std::erase_if(*chunk, [&](const Listed& one) { return one.tag <= position->after; });
    if (page.records.size() + chunk->size() > limit) {
      // A chunk is taken whole or not at all: only then does a scan that goes on show nothing twice.
      if (count > 1) {
        count /= 2;
        continue;
      }
      if (!page.records.empty()) break;
      chunk->erase(chunk->begin() + static_cast<std::ptrdiff_t>(limit), chunk->end());
      next.clear();
    }
    for (Listed& one : *chunk) page.records.push_back(std::move(one.record));
    looked_at += count;
    if (next.empty()) {  // one bucket is larger than a page
      position->after = chunk->back().tag;
      break;
    }
    *position = next == "0" ? ScanPosition{.primary = position->primary + 1}
                            : ScanPosition{.primary = position->primary, .scan = next};
    if (page.records.size() == limit) break;
    count = filtered ? scan_count_max : std::min(limit - page.records.size(), scan_count_max);
  }
  if (position->primary < primaries.size()) page.cursor = to_cursor(*position);
  co_return std::move(page);
}

// One chunk of keys, of which few or none may be marks.
Task<Result<ListMarksReply>> StoreImpl::do_list_marks(const ListMarksRequest& request) {
  ListMarksReply page;
  std::optional<ScanPosition> position = from_cursor(request.cursor);
  if (!position) co_return Error{Errc::invalid, "the cursor is not one of this store's"};
  if (const auto trouble = router_.trouble()) co_return Error{Errc::refused, trouble->message};
  const std::vector<Connection*> primaries = router_.primaries();
  if (!keeps_marks() || position->primary >= primaries.size()) co_return page;
  Connection& primary = *primaries[position->primary];
  const std::size_t count = std::clamp<std::size_t>(request.limit, 1, scan_count_max);
  const auto keys = co_await scan(primary, position->scan, count, mark_pattern_);
  if (!keys) co_return keys.error();
  const Arguments arguments = arguments_for("");
  const auto replies = co_await run_all(primary, scripts().lookup_mark, *keys, arguments);
  if (!replies) co_return replies.error();
  for (std::size_t i = 0; i < keys->size(); ++i) {
    const redisReply& said = *(*replies)[i];
    if (word_of(said) == "none") continue;
    const std::string_view mark = std::string_view((*keys)[i]).substr(url_.prefix.size() + mark_word.size());
    std::optional<MarkEntry> entry = mark_in(said, mark);
    if (entry) page.marks.push_back(*entry);
    passed_over_ += entry ? 0 : 1;
  }
  if (position->scan == "0") *position = {.primary = position->primary + 1};
  if (position->primary < primaries.size()) page.cursor = to_cursor(*position);
  co_return std::move(page);
}

Task<Result<PurgeReply>> StoreImpl::do_purge(const PurgeRequest& request) {
  if (!request.final_too) co_return co_await sweep(request);
  std::optional<ScanPosition> position = from_cursor(request.cursor);
  if (!position) co_return Error{Errc::invalid, "the cursor is not one of this store's"};
  Result<PurgeReply> reply = co_await purge_step(request, *position);
  if (reply && position->primary < router_.primaries().size()) reply->cursor = to_cursor(*position);
  co_return reply;
}

// Records past their time go by their keys' expiry. What is left to do is to drop the answers of those that
// stay as receipts, which saves memory and nothing else: one chunk per pass, so that looking at every record
// again and again costs the server next to nothing.
Task<Result<PurgeReply>> StoreImpl::sweep(const PurgeRequest& request) {
  if (!receipts_) co_return PurgeReply{};
  Result<PurgeReply> reply = co_await purge_step(request, sweep_);
  if (sweep_.primary >= router_.primaries().size()) sweep_ = {};
  co_return reply;
}

Task<Result<PurgeReply>> StoreImpl::purge_step(const PurgeRequest& request, ScanPosition& position) {
  if (const auto trouble = router_.trouble()) co_return Error{Errc::refused, trouble->message};
  const std::vector<Connection*> primaries = router_.primaries();
  PurgeReply reply;
  if (position.primary >= primaries.size()) co_return reply;
  Connection& primary = *primaries[position.primary];
  std::string next = position.scan;
  const auto keys =
      co_await scan(primary, next, std::clamp<std::size_t>(request.chunk, 1, scan_count_max), pattern_);
  if (!keys) co_return keys.error();
  Arguments arguments = arguments_for("");
  arguments.add(request.final_too).add(filter(request.operation)).add(filter(request.tenant));
  arguments.add(request.updated_before
                    ? "=" + std::to_string(request.updated_before->time_since_epoch().count())
                    : std::string());
  const auto replies = co_await run_all(primary, scripts().purge, *keys, arguments);
  if (!replies) co_return replies.error();
  for (const RespReply& said : *replies) {
    reply.removed += word_of(*said) == "remove";
    reply.receipts += word_of(*said) == "to_receipt";
  }
  const bool over = next == "0";
  position = over ? ScanPosition{.primary = position.primary + 1}
                  : ScanPosition{.primary = position.primary, .scan = next};
  co_return reply;
}

// Counted when there are few records, estimated from a sample of each server when there are many.
Task<Result<StoreStats>> StoreImpl::do_stats() {
  if (const auto trouble = router_.trouble()) co_return Error{Errc::refused, trouble->message};
  double records = 0;
  double open = 0;
  Arguments arguments = arguments_for("");
  arguments.add("").add(true);
  for (Connection* primary : router_.primaries()) {
    Call size;
    size.deadline = deadline();
    append_command(size.bytes, {"DBSIZE"});
    co_await router_.ask_primary(*primary, size);
    if (!size.reply) co_return size.reply.error();
    std::string next = "0";
    const auto keys = co_await scan(*primary, next, sample_records, pattern_);
    if (!keys) co_return keys.error();
    const auto replies = co_await run_all(*primary, scripts().lookup, *keys, arguments);
    if (!replies) co_return replies.error();
    const auto all = static_cast<double>((*size.reply)->integer);
    const double share = next == "0" ? 1.0 : std::max(1.0, all / sample_records);
    for (const RespReply& said : *replies) {
      const Result<Record> record = record_in(*said, Bodies::left_out);
      if (!record) continue;
      records += share;
      if (!is_final(record->state) && record->state != State::released) open += share;
    }
  }
  co_return StoreStats{.records = static_cast<std::uint64_t>(records),
                       .open_records = static_cast<std::uint64_t>(open)};
}

}  // namespace onceward::redis
