#include "proxy/quotas.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace onceward {
namespace {

constexpr Duration try_again{1000};
constexpr int looked_at_max = 8;

double burst_of(const QuotaLimits& limits) {
  return static_cast<double>(limits.burst != 0 ? limits.burst : limits.new_keys_per_second);
}

// Keys end on a grid of a thirty-second of their life, rounded up: few entries, never too early.
MonoTime end_of(MonoTime now, Duration lives) {
  const auto grid = std::max<std::chrono::nanoseconds>(lives / 32, std::chrono::seconds(1));
  const auto end = (now + lives).time_since_epoch();
  return MonoTime((end / grid + 1) * grid);
}

}  // namespace

void QuotaAccount::settle(const QuotaLimits& limits, MonoTime now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    live_ -= ends_.begin()->second;
    ends_.erase(ends_.begin());
  }
  if (limits.new_keys_per_second == 0) return;
  const std::chrono::duration<double> since = now - refilled_;
  tokens_ = opened_ ? std::min(burst_of(limits),
                               tokens_ + since.count() * static_cast<double>(limits.new_keys_per_second))
                    : burst_of(limits);
  refilled_ = now;
  opened_ = true;
}

std::optional<Duration> QuotaAccount::take_key(const QuotaLimits& limits, MonoTime now, Duration lives) {
  settle(limits, now);
  if (limits.live_keys != 0 && live_ >= limits.live_keys) {
    return std::chrono::ceil<Duration>(ends_.begin()->first - now);
  }
  if (limits.new_keys_per_second != 0) {
    if (tokens_ < 1) {
      const double seconds = (1 - tokens_) / static_cast<double>(limits.new_keys_per_second);
      return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
    }
    tokens_ -= 1;
  }
  if (limits.live_keys != 0) {
    ++live_;
    ++ends_[end_of(now, lives)];
  }
  return std::nullopt;
}

void QuotaAccount::give_back_key(MonoTime now, Duration lives) {
  tokens_ += 1;
  const auto taken = ends_.find(end_of(now, lives));
  if (taken == ends_.end()) return;
  --live_;
  if (--taken->second == 0) ends_.erase(taken);
}

std::optional<Duration> QuotaAccount::take_execution(const QuotaLimits& limits) {
  if (limits.in_flight != 0 && in_flight_ >= limits.in_flight) return try_again;
  ++in_flight_;
  return std::nullopt;
}

bool QuotaAccount::is_idle(const QuotaLimits& limits, MonoTime now) {
  settle(limits, now);
  return in_flight_ == 0 && live_ == 0 && (limits.new_keys_per_second == 0 || tokens_ >= burst_of(limits));
}

class Quotas::Ticket final : public Admission {
 public:
  Ticket(Quotas& quotas, Shard& shard, std::string_view owner, const QuotaLimits& limits, Duration lives)
      : quotas_(quotas), shard_(shard), owner_(owner), limits_(limits), lives_(lives) {}
  ~Ticket() override { leave(); }

  std::optional<Duration> enter() override {
    std::lock_guard lock(shard_.mutex);
    account_ = quotas_.open(shard_, owner_, limits_);
    if (auto wait = account_->take_execution(limits_)) return wait;
    executes_ = true;
    took_at_ = quotas_.clock_.mono();
    if (auto wait = account_->take_key(limits_, took_at_, lives_)) {
      give_back_execution();
      return wait;
    }
    has_key_ = true;
    return std::nullopt;
  }
  std::optional<Duration> enter_again() override {
    std::lock_guard lock(shard_.mutex);
    account_ = quotas_.open(shard_, owner_, limits_);
    if (auto wait = account_->take_execution(limits_)) return wait;
    executes_ = true;
    return std::nullopt;
  }
  void granted(bool is_new) override {
    std::lock_guard lock(shard_.mutex);
    if (is_new) has_key_ = false;  // paid for
    give_back_key();
  }
  void leave() override {
    std::lock_guard lock(shard_.mutex);
    give_back_key();
    give_back_execution();
  }

 private:
  void give_back_key() {
    if (std::exchange(has_key_, false)) account_->give_back_key(took_at_, lives_);
  }
  void give_back_execution() {
    if (std::exchange(executes_, false)) account_->give_back_execution();
  }

  Quotas& quotas_;
  Shard& shard_;
  const std::string owner_;
  const QuotaLimits limits_;
  const Duration lives_;
  std::shared_ptr<QuotaAccount> account_;
  MonoTime took_at_{};
  bool has_key_ = false;
  bool executes_ = false;
};

std::unique_ptr<Admission> Quotas::admission(std::string_view owner, const QuotaLimits& limits,
                                             Duration lives) {
  Shard& shard = shards_[std::hash<std::string_view>{}(owner) % shards_.size()];
  return std::make_unique<Ticket>(*this, shard, owner, limits, lives);
}

std::shared_ptr<QuotaAccount> Quotas::open(Shard& shard, std::string_view owner, const QuotaLimits& limits) {
  if (const auto found = shard.accounts.find(std::string(owner)); found != shard.accounts.end()) {
    shard.names.splice(shard.names.begin(), shard.names, found->second.used);
    return found->second.account;
  }
  if (shard.accounts.size() >= accounts_max / shards_.size()) make_room(shard, limits, clock_.mono());
  shard.names.emplace_front(owner);
  const Held held{std::make_shared<QuotaAccount>(), shard.names.begin()};
  return shard.accounts.emplace(owner, held).first->second.account;
}

// Forgetting an idle account changes nothing. When none of the longest unused is idle, the longest unused
// goes: somebody then gets a fresh allowance, which is better than growing without end.
void Quotas::make_room(Shard& shard, const QuotaLimits& limits, MonoTime now) {
  auto victim = std::prev(shard.names.end());
  auto candidate = victim;
  for (int looked_at = 0; looked_at < looked_at_max; ++looked_at) {
    if (shard.accounts.at(*candidate).account->is_idle(limits, now)) {
      victim = candidate;
      break;
    }
    if (candidate == shard.names.begin()) break;
    --candidate;
  }
  shard.accounts.erase(*victim);
  shard.names.erase(victim);
}

std::size_t Quotas::accounts() const {
  std::size_t count = 0;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    count += shard.accounts.size();
  }
  return count;
}

}  // namespace onceward
