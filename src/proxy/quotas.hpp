// Quotas: how many new keys, live keys and executions one tenant and caller may have, counted in this
// process. Accounts that are idle, or the least used of too many, are forgotten, so that callers who invent
// identities cost a bounded amount of memory. Any thread; sharded, so that callers do not wait for another.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/admission.hpp"

namespace onceward {

struct QuotaLimits {  // 0: no limit
  std::size_t new_keys_per_second = 0;
  std::size_t burst = 0;  // 0: as many as per second
  std::size_t live_keys = 0;
  std::size_t in_flight = 0;
  bool any() const { return new_keys_per_second + live_keys + in_flight != 0; }
};

// One caller's account. Pure: time is an argument.
class QuotaAccount {
 public:
  // Nothing: it was taken. Otherwise when it is worth trying again.
  std::optional<Duration> take_key(const QuotaLimits& limits, MonoTime now, Duration lives);
  std::optional<Duration> take_execution(const QuotaLimits& limits);
  void give_back_key(MonoTime now, Duration lives);
  void give_back_execution() { --in_flight_; }
  // As good as an account that was never opened.
  bool is_idle(const QuotaLimits& limits, MonoTime now);

 private:
  void settle(const QuotaLimits& limits, MonoTime now);

  double tokens_ = 0;
  MonoTime refilled_{};
  bool opened_ = false;
  std::size_t in_flight_ = 0;
  std::size_t live_ = 0;
  std::map<MonoTime, std::size_t> ends_;  // how many keys end when, rounded so that there are few entries
};

class Quotas {
 public:
  static constexpr std::size_t accounts_max = 65'536;

  explicit Quotas(const Clock& clock) : clock_(clock) {}

  // `owner` names the tenant and caller; `lives` is how long a key is kept once it was used.
  std::unique_ptr<Admission> admission(std::string_view owner, const QuotaLimits& limits, Duration lives);

  std::size_t accounts() const;

 private:
  class Ticket;
  using Names = std::list<std::string>;  // most recently used first
  struct Held {
    std::shared_ptr<QuotaAccount> account;  // shared with tickets, which may outlive its place here
    Names::iterator used;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, Held> accounts;
    Names names;
  };

  std::shared_ptr<QuotaAccount> open(Shard& shard, std::string_view owner, const QuotaLimits& limits);
  static void make_room(Shard& shard, const QuotaLimits& limits, MonoTime now);

  const Clock& clock_;
  std::array<Shard, 64> shards_;
};

}  // namespace onceward
