#include "conformance/store_conformance.hpp"

#include "base/sha256.hpp"
#include "core/adoption.hpp"
#include "core/scope.hpp"
#include "core/transition.hpp"

namespace onceward::testing {

ClaimRequest StoreConformance::request(const std::string& key, const std::string& body,
                                       const std::string& owner) {
  ClaimRequest request;
  request.scope = scope_of("tenant", "caller", "orders.create", key, "");
  request.operation_id = make_operation_id(request.scope, now(), static_cast<std::uint16_t>(owner.size()));
  const auto nonce = sha256(owner + "/" + key);
  std::copy_n(nonce.begin(), request.owner.data.size(), request.owner.data.begin());
  request.fingerprint = {1, Digest{sha256(body)}};
  request.request = std::make_shared<const RequestInfo>(
      RequestInfo{"tenant", "orders.create", "0123abcd", {{"/a", 7}}, "tag", "/orders/by-key/" + key});
  request.lease = std::chrono::seconds(30);
  request.max_hold = std::chrono::minutes(10);
  request.ttl = std::chrono::hours(24);
  return request;
}

Result<ClaimReply> StoreConformance::claim(const ClaimRequest& request) {
  return executor_.call<ClaimReply>([&](auto& reply) { return store().claim(request, reply); });
}

Record StoreConformance::must_claim(const ClaimRequest& request) {
  const Result<ClaimReply> reply = claim(request);
  if (!reply) {
    ADD_FAILURE() << "claim failed: " << reply.error().message;
    return {};
  }
  EXPECT_TRUE(reply->granted) << "state " << to_string(reply->record.state);
  return reply->record;
}

Result<Record> StoreConformance::dispatch(const Record& mine) {
  const Fence fence = fence_of(mine);
  return executor_.call<Record>([&](auto& reply) { return store().dispatch(fence, reply); });
}

Result<Record> StoreConformance::renew(const Record& mine, Duration lease) {
  const RenewRequest request{fence_of(mine), lease};
  return executor_.call<Record>([&](auto& reply) { return store().renew(request, reply); });
}

Result<Record> StoreConformance::complete(const Record& mine, const std::string& body, State as,
                                          std::optional<Duration> ttl) {
  auto response = std::make_shared<const Response>(Response{201, false, "Location: /orders/1\r\n", body});
  const CompleteRequest request{fence_of(mine), as, std::move(response), ttl};
  return executor_.call<Record>([&](auto& reply) { return store().complete(request, reply); });
}

Result<Record> StoreConformance::release(const Record& mine, bool unbind) {
  const ReleaseRequest request{fence_of(mine), unbind};
  return executor_.call<Record>([&](auto& reply) { return store().release(request, reply); });
}

Result<Record> StoreConformance::unknown(const Record& mine, UnknownCause cause) {
  const UnknownRequest request{fence_of(mine), {cause, 0, 17}};
  return executor_.call<Record>([&](auto& reply) { return store().unknown(request, reply); });
}

Result<Record> StoreConformance::resolve(const Record& record, State as, Epoch epoch,
                                         const std::string& body) {
  std::shared_ptr<const Response> response;
  if (!body.empty()) response = std::make_shared<const Response>(Response{200, false, "", body});
  const ResolveRequest request{record.scope, record.operation_id, epoch, as, std::move(response)};
  return executor_.call<Record>([&](auto& reply) { return store().resolve(request, reply); });
}

Result<bool> StoreConformance::adopt(const Record& copy) {
  auto& adopter = dynamic_cast<Adopter&>(store());
  return executor_.call<bool>([&](auto& reply) { return adopter.adopt(copy, reply); });
}

Result<bool> StoreConformance::adopt_mark(const MarkEntry& copy, bool only_ask) {
  auto& adopter = dynamic_cast<Adopter&>(store());
  const AdoptMarkRequest request{copy, only_ask};
  return executor_.call<bool>([&](auto& reply) { return adopter.adopt_mark(request, reply); });
}

std::vector<MarkEntry> StoreConformance::list_marks(std::size_t page) {
  auto& adopter = dynamic_cast<Adopter&>(store());
  std::map<Scope, MarkEntry> found;
  ListMarksRequest request{page, ""};
  do {
    const auto reply =
        executor_.call<ListMarksReply>([&](auto& r) { return adopter.list_marks(request, r); });
    if (!reply) {
      ADD_FAILURE() << reply.error().message;
      return {};
    }
    for (const MarkEntry& entry : reply->marks) found.insert_or_assign(entry.scope, entry);
    request.cursor = reply->cursor;
  } while (!request.cursor.empty());
  std::vector<MarkEntry> all;
  for (const auto& [scope, entry] : found) all.push_back(entry);
  return all;
}

Result<Record> StoreConformance::lookup(const Scope& scope) {
  return executor_.call<Record>([&](auto& reply) { return store().lookup(scope, reply); });
}

Result<Record> StoreConformance::lookup(const OperationId& id) {
  return executor_.call<Record>([&](auto& reply) { return store().lookup(id, reply); });
}

Result<ListReply> StoreConformance::list(const ListRequest& request) {
  return executor_.call<ListReply>([&](auto& reply) { return store().list(request, reply); });
}

Result<PurgeReply> StoreConformance::purge(const PurgeRequest& request) {
  return executor_.call<PurgeReply>([&](auto& reply) { return store().purge(request, reply); });
}

PurgeReply StoreConformance::purge_all(PurgeRequest request) {
  PurgeReply total;
  for (int step = 0; step < 10'000; ++step) {
    const Result<PurgeReply> reply = purge(request);
    if (!reply) {
      ADD_FAILURE() << reply.error().message;
      return total;
    }
    total.removed += reply->removed;
    total.receipts += reply->receipts;
    if (reply->cursor.empty()) return total;
    request.cursor = reply->cursor;
  }
  ADD_FAILURE() << "the purge never ends";
  return total;
}

StoreStats StoreConformance::stats() {
  return *executor_.call<StoreStats>([&](auto& reply) { return store().stats(reply); });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreConformance);

}  // namespace onceward::testing
