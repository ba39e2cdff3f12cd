#include "engine/flights.hpp"

#include "base/assert.hpp"

namespace onceward {

News Ending::news() const {
  if (settled) return Settled{*settled};
  if (outcome) return *outcome;
  return Again{};
}

Waiter::Waiter(Executor& executor, const Fingerprint& fingerprint, MonoTime deadline, bool may_wait)
    : executor_(executor), fingerprint_(fingerprint), deadline_(deadline), may_wait_(may_wait) {
  Completion::run = &Waiter::on_posted;
  alarm_.run = &Waiter::on_alarm;
  alarm_.waiter = this;
}

bool Waiter::await_suspend(std::coroutine_handle<> waiting) {
  waiting_ = waiting;
  // A follower is told by a posted completion, which cannot run before this coroutine has suspended. It
  // must not look whether there is news: that is another thread's to write, and the completion would
  // then find a frame that has gone on. News of a leader can only come on its own thread.
  return follows_ || !has_news();
}

bool Waiter::differs_from(const Record& record) const {
  return record.fingerprint.bound() && record.fingerprint != fingerprint_;
}

void Waiter::on_posted(Completion* self) {
  auto* waiter = static_cast<Waiter*>(self);
  waiter->executor_.cancel(waiter->alarm_);
  waiter->waiting_.resume();
}

void Waiter::on_alarm(Timer* alarm) {
  Waiter* waiter = static_cast<Alarm*>(alarm)->waiter;
  waiter->flights_->time_up(*waiter);
}

Flight** Flights::place_of(Shard& shard, const Scope& scope) {
  Flight** place = &chain_of(shard, scope);
  while (*place && (*place)->scope_ != scope) place = &(*place)->next_;
  return place;
}

namespace {

template <class W>
void link(W*& head, W& waiter, W* W::* previous, W* W::* next) {
  waiter.*previous = nullptr;
  waiter.*next = head;
  if (head) head->*previous = &waiter;
  head = &waiter;
}

template <class W>
void unlink(W*& head, W& waiter, W* W::* previous, W* W::* next) {
  if (waiter.*previous) (waiter.*previous)->*next = waiter.*next;
  if (waiter.*next) (waiter.*next)->*previous = waiter.*previous;
  if (head == &waiter) head = waiter.*next;
}

}  // namespace

Flights::Joined Flights::join(Flight& flight, Waiter& waiter) {
  waiter.flights_ = this;
  waiter.scope_ = flight.scope_;
  Shard& shard = shard_of(flight.scope_);
  std::lock_guard lock(shard.mutex);
  Flight** const place = place_of(shard, flight.scope_);
  if (!*place) {
    *place = &flight;
    ++shard.size;
    flight.leader_ = &waiter;
    waiter.led_ = &flight;
    return Joined::leads;
  }
  Flight& standing = **place;
  if (standing.known_ && waiter.differs_from(standing.record_)) {
    waiter.news_ = Settled{standing.record_};
    return Joined::told;
  }
  if (standing.known_ && !waiter.may_wait_) {
    if (!standing.will_look_) {
      waiter.news_ = TimeUp{standing.record_};
      return Joined::told;
    }
    if (standing.lookout_) standing.lookout_->look();
  }
  link(standing.followers_, waiter, &Waiter::previous_, &Waiter::next_);
  waiter.linked_ = true;
  waiter.follows_ = true;
  // Without time to wait it stays until the store has said what the key is doing, which is soon.
  if (waiter.may_wait_) waiter.executor_.arm(waiter.alarm_, waiter.deadline_);
  return Joined::follows;
}

bool Flights::begin(Flight& flight) {
  Shard& shard = shard_of(flight.scope_);
  std::lock_guard lock(shard.mutex);
  Flight** const place = place_of(shard, flight.scope_);
  if (*place) return false;
  *place = &flight;
  ++shard.size;
  return true;
}

void Flights::in_progress(Flight& flight, Record known, bool here) {
  std::lock_guard lock(shard_of(flight.scope_).mutex);
  flight.known_ = true;
  flight.runs_here_ = here;
  flight.will_look_ = false;
  flight.record_ = std::move(known);
  const Record& record = flight.record_;
  for (Waiter* waiter = flight.followers_; waiter;) {
    Waiter* next = waiter->next_;
    const bool differs = waiter->differs_from(record);
    waiter->is_up_to_date_ = true;
    if (differs || !waiter->may_wait_) {
      unlink(flight.followers_, *waiter, &Waiter::previous_, &Waiter::next_);
      waiter->linked_ = false;
      waiter->news_ = differs ? News(Settled{record}) : News(TimeUp{record});
      waiter->executor_.post(waiter);
    }
    waiter = next;
  }
}

void Flights::changes(Flight& flight) {
  std::lock_guard lock(shard_of(flight.scope_).mutex);
  flight.known_ = false;
}

void Flights::leader_waits(Flight& flight) {
  Waiter* leader = flight.leader_;
  if (!leader) return;
  const Record& record = flight.record_;
  if (leader->differs_from(record)) return tell_leader<Settled>(flight, Settled{record});
  if (leader->deadline_ <= clock_.mono()) return tell_leader<TimeUp>(flight, TimeUp{record});
  leader->executor_.arm(leader->alarm_, leader->deadline_);
}

void Flights::watches(Flight& flight, Lookout& lookout) {
  std::lock_guard lock(shard_of(flight.scope_).mutex);
  flight.will_look_ = true;
  flight.lookout_ = &lookout;
}

void Flights::looks(Flight& flight) {
  std::lock_guard lock(shard_of(flight.scope_).mutex);
  flight.lookout_ = nullptr;
}

void Flights::leader_stays(Flight& flight) {
  if (Waiter* leader = flight.leader_) leader->executor_.cancel(leader->alarm_);
}

void Flights::end(Flight& flight, const Ending& ending) {
  Shard& shard = shard_of(flight.scope_);
  std::lock_guard lock(shard.mutex);
  Flight** const place = place_of(shard, flight.scope_);
  if (*place != &flight) return;  // it has ended before
  *place = flight.next_;
  --shard.size;
  for (Waiter* waiter = std::exchange(flight.followers_, nullptr); waiter;) {
    Waiter* next = waiter->next_;
    waiter->linked_ = false;
    waiter->news_ = ending.news();
    waiter->executor_.post(waiter);
    waiter = next;
  }
}

bool Flights::has_waiters(const Flight& flight) {
  if (flight.leader_) return true;
  std::lock_guard lock(shard_of(flight.scope_).mutex);
  return flight.followers_ != nullptr;
}

void Flights::time_up(Waiter& waiter) {
  if (waiter.led_) {
    Record seen;
    {
      std::lock_guard lock(shard_of(waiter.scope_).mutex);
      Flight& flight = *waiter.led_;
      seen = flight.record_;
      flight.leader_left_ = true;
      if (flight.lookout_ && !flight.followers_) flight.lookout_->look();
    }
    return tell_leader<TimeUp>(*waiter.led_, TimeUp{std::move(seen)});
  }
  {
    Shard& shard = shard_of(waiter.scope_);
    std::lock_guard lock(shard.mutex);
    if (!waiter.linked_) return;  // already told; the completion is on its way
    Flight& flight = **place_of(shard, waiter.scope_);
    if (!waiter.is_up_to_date_ && flight.will_look_) {
      waiter.may_wait_ = false;
      if (flight.lookout_) flight.lookout_->look();
      return;
    }
    unlink(flight.followers_, waiter, &Waiter::previous_, &Waiter::next_);
    waiter.linked_ = false;
    waiter.news_ = TimeUp{flight.record_};
    if (flight.lookout_ && !flight.followers_ && flight.leader_left_) flight.lookout_->look();
  }
  waiter.waiting_.resume();
}

std::size_t Flights::size() const {
  std::size_t size = 0;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    size += shard.size;
  }
  return size;
}

std::vector<Record> Flights::running_here() const {
  std::vector<Record> records;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (const Flight* flight : shard.chains)
      for (; flight; flight = flight->next_)
        if (flight->runs_here_) records.push_back(flight->record_);
  }
  return records;
}

}  // namespace onceward
