#include "net/timer_heap.hpp"

namespace onceward::net {

void TimerHeap::arm(Timer& timer, MonoTime at) {
  timer.at = at;
  if (!timer.armed()) {
    heap_.push_back({at, &timer});
    timer.heap_slot = heap_.size() - 1;
    sift_up(timer.heap_slot);
  } else if (at < heap_[timer.heap_slot].at) {
    heap_[timer.heap_slot].at = at;
    sift_up(timer.heap_slot);
  }
}

void TimerHeap::cancel(Timer& timer) {
  if (timer.armed()) remove(timer.heap_slot);
}

void TimerHeap::fire(MonoTime now) {
  while (!heap_.empty() && heap_.front().at <= now) {
    Timer& timer = *heap_.front().timer;
    if (timer.at > now) {
      heap_.front().at = timer.at;
      sift_down(0);
      continue;
    }
    remove(0);
    timer.run(&timer);
  }
}

std::optional<MonoTime> TimerHeap::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().at;
}

void TimerHeap::place(std::size_t slot, Entry entry) {
  heap_[slot] = entry;
  entry.timer->heap_slot = slot;
}

void TimerHeap::sift_up(std::size_t slot) {
  const Entry entry = heap_[slot];
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / 2;
    if (heap_[parent].at <= entry.at) break;
    place(slot, heap_[parent]);
    slot = parent;
  }
  place(slot, entry);
}

void TimerHeap::sift_down(std::size_t slot) {
  const Entry entry = heap_[slot];
  while (true) {
    std::size_t child = slot * 2 + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].at < heap_[child].at) ++child;
    if (entry.at <= heap_[child].at) break;
    place(slot, heap_[child]);
    slot = child;
  }
  place(slot, entry);
}

void TimerHeap::remove(std::size_t slot) {
  heap_[slot].timer->heap_slot = Timer::npos;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (slot == heap_.size()) return;
  place(slot, last);
  sift_up(slot);
  sift_down(last.timer->heap_slot);
}

}  // namespace onceward::net
