// ProbeSchedule: when each record whose outcome is unknown may be asked about again. Pure bookkeeping: time
// and chance are arguments. Not thread-safe; its owner holds a lock.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/policy.hpp"
#include "onceward/values.hpp"

namespace onceward {

// How long to wait after so many questions without an answer that settles anything: `every`, doubled each
// time up to a limit, a tenth more or less by chance (0 … 65535), so that records that became unknown
// together are not asked about together for ever.
Duration probe_pause(const ProbePolicy& policy, std::uint32_t asked, std::uint16_t chance);

// So many questions per second at most, whoever asks them.
class ProbeRate {
 public:
  explicit ProbeRate(std::size_t per_second) : per_second_(per_second), left_(per_second) {}
  bool take(MonoTime now);

 private:
  std::size_t per_second_;
  std::size_t left_;
  MonoTime second_began_{};
};

class ProbeSchedule {
 public:
  static constexpr std::size_t records_max = 100'000;

  explicit ProbeSchedule(std::size_t per_second) : rate_(per_second) {}

  struct Now {
    Timestamp wall{};
    MonoTime mono{};
  };
  enum class Verdict {
    go,        // ask; ended() must follow
    not_yet,   // asked lately, just became unknown, being asked, or too many questions this second
    gave_up,   // for good: a person must decide
    gives_up,  // the same, for the first time
  };
  // `record` is unknown.
  Verdict begin(const Record& record, const ProbePolicy& policy, Now now);
  // The question was answered, one way or the other.
  void settled(const Scope& scope) { entries_.erase(scope); }
  void not_settled(const Scope& scope, const ProbePolicy& policy, MonoTime now, std::uint16_t chance);

  std::size_t size() const { return entries_.size(); }
  // Forgets what nobody has asked about for an hour: others settled it.
  void forget_idle(MonoTime now);

 private:
  struct Entry {
    Epoch epoch = 0;
    std::uint32_t asked = 0;
    bool asking = false;
    bool gave_up = false;
    MonoTime due{};
    MonoTime touched{};
  };
  struct HashScope {
    std::size_t operator()(const Scope& scope) const;
  };

  ProbeRate rate_;
  std::unordered_map<Scope, Entry, HashScope> entries_;
};

}  // namespace onceward
