// A long random run against the model, which is `transition` and the rule of marks over plain maps: every
// reply and, now and then, every record must agree. The seed is printed; ONCEWARD_SEED repeats it and
// ONCEWARD_STEPS makes the run longer.
#include <cstdlib>
#include <map>
#include <random>

#include "base/sha256.hpp"
#include "conformance/store_conformance.hpp"
#include "core/marks.hpp"

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

std::string describe(const ClaimReply& reply) {
  std::string text = reply.granted ? "granted " : "refused ";
  if (reply.record.epoch != 0) text += describe(Result<Record>(reply.record));
  if (reply.standing) text += " meets " + to_string(reply.standing->operation_id);
  return text;
}

class Model {
 public:
  ClaimStep claim(const ClaimRequest& request, Timestamp at) {
    std::vector<MarkSeen> seen;
    for (const Mark& mark : request.request->marks) {
      const auto entry = marks_.find(mark.scope);
      if (entry == marks_.end()) {
        seen.push_back({&mark, nullptr, nullptr});
      } else {
        seen.push_back({&mark, &entry->second, find(entry->second.holder.scope)});
      }
    }
    MarkedClaim claim = take_marks(transition(find(request.scope), request, at), seen, at);
    if (claim.step.next) {
      for (const Mark& mark : left_marks(find(request.scope), *claim.step.next)) {
        change(mark, leave_mark(mark, entry_of(mark), *claim.step.next, at));
      }
    }
    put(claim.step.next);
    for (const MarkEntry& entry : claim.taken) marks_.insert_or_assign(entry.scope, entry);
    return std::move(claim.step);
  }
  template <class Event>
  Result<Record> apply(const Scope& scope, const Event& event, Timestamp at) {
    Step step = transition(find(scope), event, at);
    if (step.next && ends_marks(*step.next)) {
      for (const Mark& mark : step.next->request->marks) {
        change(mark, end_mark(mark, entry_of(mark), *step.next, at));
      }
    }
    put(step.next);
    return std::move(step.reply);
  }
  const Record* find(const Scope& scope) const {
    const auto found = records_.find(scope);
    return found == records_.end() ? nullptr : &found->second;
  }
  Result<Record> now(const Scope& scope, Timestamp at) const {
    const Record* stored = find(scope);
    if (!stored) return Error{Errc::not_found, ""};
    std::optional<Record> settled = settle(*stored, at);
    return settled ? Result<Record>(*settled) : Result<Record>(Error{Errc::not_found, ""});
  }

 private:
  const MarkEntry* entry_of(const Mark& mark) const {
    const auto entry = marks_.find(mark.scope);
    return entry == marks_.end() ? nullptr : &entry->second;
  }
  void change(const Mark& mark, const MarkStep& step) {
    if (step.change == MarkChange::write) marks_.insert_or_assign(mark.scope, step.entry);
    if (step.change == MarkChange::drop) marks_.erase(mark.scope);
  }
  void put(const std::optional<Record>& next) {
    if (next) records_.insert_or_assign(next->scope, *next);
  }

  std::map<Scope, Record> records_;
  std::map<Scope, MarkEntry> marks_;
};

TEST_P(StoreConformance, a_long_random_run_agrees_with_the_model) {
  const std::uint64_t seed = number_from("ONCEWARD_SEED", 20260101);
  const std::uint64_t steps = number_from("ONCEWARD_STEPS", 100'000);
  SCOPED_TRACE("ONCEWARD_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };

  Model model;
  const bool with_marks = store().keeps_marks();
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
      if (with_marks && below(3) == 0) {
        RequestInfo info = *wanted.request;
        const auto scope_of_fact = [&](const char* kind) {
          return Scope{sha256(kind + std::to_string(below(6)))};
        };
        info.marks.push_back({MarkKind::unique, scope_of_fact("unique"), Duration(1 + below(30000)), true});
        if (below(2))
          info.marks.push_back(
              {MarkKind::suspect, scope_of_fact("suspect"), Duration(1 + below(5000)), below(2) == 0});
        wanted.request = std::make_shared<const RequestInfo>(std::move(info));
      }
      const ClaimStep modelled = model.claim(wanted, now());
      const Result<ClaimReply> reply = claim(wanted);
      ASSERT_TRUE(reply) << reply.error().message;
      expected = describe(modelled.reply);
      actual = describe(*reply);
      if (reply->granted) claims.push_back(reply->record);
      if (claims.size() > 60) claims.erase(claims.begin());
    } else if (verb < 90) {
      const auto check = [&](const auto& event, const Result<Record>& reply) {
        expected = describe(model.apply(known->scope, event, now()));
        actual = describe(reply);
      };
      const Fence fence = fence_of(*known);
      if (verb < 48) {
        check(fence, dispatch(*known));
      } else if (verb < 56) {
        const Duration lease(1 + below(5000));
        check(RenewRequest{fence, lease}, renew(*known, lease));
      } else if (verb < 70) {
        const std::string body = "b" + std::to_string(below(3));
        const State as = below(5) ? State::succeeded : State::failed;
        auto response =
            std::make_shared<const Response>(Response{201, false, "Location: /orders/1\r\n", body});
        check(CompleteRequest{fence, as, response, {}}, complete(*known, body, as));
      } else if (verb < 76) {
        const bool unbind = below(2) == 0;
        check(ReleaseRequest{fence, unbind}, release(*known, unbind));
      } else if (verb < 82) {
        check(UnknownRequest{fence, {UnknownCause::timeout, 0, 17}}, unknown(*known));
      } else {
        const State as = std::array{State::succeeded, State::failed, State::released}[below(3)];
        const Epoch epoch = known->epoch + below(4) / 3;
        check(ResolveRequest{known->scope, known->operation_id, epoch, as, nullptr},
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
