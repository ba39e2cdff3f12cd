// A long random run against the model, which is `transition` over a plain map: every reply and, now
// and then, every record must agree. The seed is printed; ONCEWARD_SEED repeats it and
// ONCEWARD_STEPS makes the run longer.
#include <cstdlib>
#include <map>
#include <random>

#include "base/sha256.hpp"
#include "conformance/store_conformance.hpp"
#include "core/transition.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : fallback;
}

std::string describe(const Result<Record>& result) {
  if (!result) return "error " + std::to_string(static_cast<int>(result.error().code));
  const Record& r = *result;
  const auto ms = [](Timestamp t) { return std::to_string(t.time_since_epoch().count()); };
  return std::string(to_string(r.state)) + " e" + std::to_string(r.epoch) + " o" +
         std::to_string(r.owner.data[0]) + " " + to_string(r.operation_id) + " f" +
         std::to_string(r.fingerprint.version) + "." + std::to_string(r.fingerprint.digest.data[0]) + " c" +
         ms(r.created_at) + " u" + ms(r.updated_at) + " l" + ms(r.lease_until) + " x" + ms(r.expires_at) +
         " cause " + std::string(to_string(r.evidence.cause)) + " body " +
         (r.response ? r.response->body : "-");
}

class Model {
 public:
  const Record* find(const Scope& scope) const {
    const auto found = records_.find(scope);
    return found == records_.end() ? nullptr : &found->second;
  }
  void put(const std::optional<Record>& next) {
    if (next) records_.insert_or_assign(next->scope, *next);
  }
  Result<Record> now(const Scope& scope, Timestamp at) const {
    const Record* stored = find(scope);
    if (!stored) return Error{Errc::not_found, ""};
    std::optional<Record> settled = settle(*stored, at);
    return settled ? Result<Record>(*settled) : Result<Record>(Error{Errc::not_found, ""});
  }

 private:
  std::map<Scope, Record> records_;
};

TEST_P(StoreConformance, a_long_random_run_agrees_with_the_model) {
  const std::uint64_t seed = number_from("ONCEWARD_SEED", 20260101);
  const std::uint64_t steps = number_from("ONCEWARD_STEPS", 100'000);
  SCOPED_TRACE("ONCEWARD_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };

  Model model;
  std::vector<Record> claims;  // what was ever granted: current and stale fences alike
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::string key = "k" + std::to_string(below(40));
    std::string expected;
    std::string actual;
    const std::uint64_t verb = below(100);
    const Record* known = claims.empty() ? nullptr : &claims[below(claims.size())];
    if (verb < 40 || !known) {
      ClaimRequest wanted =
          request(key, "body" + std::to_string(below(8) == 0), "o" + std::to_string(random()));
      wanted.start = below(4) ? State::processing : State::claimed;
      wanted.take_unknown = below(6) == 0;
      wanted.lease = Duration(1 + below(5000));
      wanted.max_hold = Duration(1 + below(20000));
      wanted.ttl = Duration(1 + below(20000));
      wanted.receipt_ttl = Duration(below(2) * below(20000));
      const ClaimStep modelled = transition(model.find(wanted.scope), wanted, now());
      const Result<ClaimReply> reply = claim(wanted);
      ASSERT_TRUE(reply) << reply.error().message;
      model.put(modelled.next);
      expected = (modelled.reply.granted ? "granted " : "refused ") + describe(modelled.reply.record);
      actual = (reply->granted ? "granted " : "refused ") + describe(reply->record);
      if (reply->granted) claims.push_back(reply->record);
      if (claims.size() > 60) claims.erase(claims.begin());
    } else if (verb < 90) {
      const auto check = [&](Step modelled, const Result<Record>& reply) {
        model.put(modelled.next);
        expected = describe(modelled.reply);
        actual = describe(reply);
      };
      const Fence fence = fence_of(*known);
      const Record* stored = model.find(known->scope);
      const Timestamp at = now();
      if (verb < 48) {
        check(transition(stored, fence, at), dispatch(*known));
      } else if (verb < 56) {
        const Duration lease(1 + below(5000));
        check(transition(stored, RenewRequest{fence, lease}, at), renew(*known, lease));
      } else if (verb < 70) {
        const std::string body = "b" + std::to_string(below(3));
        const State as = below(5) ? State::succeeded : State::failed;
        auto response =
            std::make_shared<const Response>(Response{201, false, "Location: /orders/1\r\n", body});
        check(transition(stored, CompleteRequest{fence, as, response, {}}, at), complete(*known, body, as));
      } else if (verb < 76) {
        const bool unbind = below(2) == 0;
        check(transition(stored, ReleaseRequest{fence, unbind}, at), release(*known, unbind));
      } else if (verb < 82) {
        check(transition(stored, UnknownRequest{fence, {UnknownCause::timeout, 0, 17}}, at), unknown(*known));
      } else {
        const State as = std::array{State::succeeded, State::failed, State::released}[below(3)];
        const Epoch epoch = known->epoch + below(4) / 3;
        check(transition(stored, ResolveRequest{known->scope, known->operation_id, epoch, as, nullptr}, at),
              resolve(*known, as, epoch));
      }
    } else if (verb < 96) {
      const Scope scope = request(key).scope;
      expected = describe(model.now(scope, now()));
      actual = describe(lookup(scope));
    } else if (verb < 98) {
      advance(Duration(below(3000)));
    } else {
      purge_all();  // must never be seen in any reply
    }
    ASSERT_EQ(actual, expected) << "step " << step;
  }
}

}  // namespace
}  // namespace onceward::testing
