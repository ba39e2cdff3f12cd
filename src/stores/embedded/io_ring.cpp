#include "stores/embedded/io_ring.hpp"

#include <linux/io_uring.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace onceward::embedded {
namespace {

unsigned load(unsigned* shared) { return std::atomic_ref<unsigned>(*shared).load(std::memory_order_acquire); }
void store(unsigned* shared, unsigned value) {
  std::atomic_ref<unsigned>(*shared).store(value, std::memory_order_release);
}

void* map(int ring, std::size_t bytes, off_t what) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

IoRing::IoRing() {
  io_uring_params params{};
  // The end of a write is looked after when this thread asks for it, and not by interrupting it; that there
  // is something to look after is shown.
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
  ring_ = static_cast<int>(::syscall(SYS_io_uring_setup, 1, &params));
  if (ring_ < 0) return;
  const std::size_t submitted_bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
  const std::size_t ended_bytes = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
  queues_bytes_ = submitted_bytes > ended_bytes ? submitted_bytes : ended_bytes;
  requests_bytes_ = params.sq_entries * sizeof(io_uring_sqe);
  if (params.features & IORING_FEAT_SINGLE_MMAP) {
    queues_ = static_cast<char*>(map(ring_, queues_bytes_, IORING_OFF_SQ_RING));
    requests_ = static_cast<io_uring_sqe*>(map(ring_, requests_bytes_, IORING_OFF_SQES));
  }
  if (!queues_ || !requests_) {
    close();
    return;
  }
  const auto at = [this](std::uint32_t offset) { return reinterpret_cast<unsigned*>(queues_ + offset); };
  submitted_head_ = at(params.sq_off.head);
  submitted_tail_ = at(params.sq_off.tail);
  submitted_ = at(params.sq_off.array);
  state_ = at(params.sq_off.flags);
  ended_head_ = at(params.cq_off.head);
  ended_tail_ = at(params.cq_off.tail);
  ended_mask_ = *at(params.cq_off.ring_mask);
  ended_ = reinterpret_cast<io_uring_cqe*>(queues_ + params.cq_off.cqes);
}

IoRing::~IoRing() { close(); }

void IoRing::close() {
  if (queues_) ::munmap(queues_, queues_bytes_);
  if (requests_) ::munmap(requests_, requests_bytes_);
  if (ring_ >= 0) ::close(ring_);
  if (ends_ >= 0) ::close(ends_);
  queues_ = nullptr;
  requests_ = nullptr;
  ring_ = -1;
  ends_ = -1;
}

int IoRing::enter(unsigned submit, unsigned wait_for) const {
  return static_cast<int>(
      ::syscall(SYS_io_uring_enter, ring_, submit, wait_for, IORING_ENTER_GETEVENTS, nullptr, 0));
}

int IoRing::tell_of_ends() {
  if (ends_ >= 0) return ends_;
  int file = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (file < 0) return -errno;
  if (::syscall(SYS_io_uring_register, ring_, IORING_REGISTER_EVENTFD, &file, 1) != 0) {
    const int error = errno;
    ::close(file);
    return -error;
  }
  return ends_ = file;
}

bool IoRing::submit(int file, const char* from, std::size_t count, std::uint64_t offset, unsigned wait_for) {
  io_uring_sqe& request = *requests_;
  std::memset(&request, 0, sizeof request);
  request.opcode = IORING_OP_WRITE;
  request.fd = file;
  request.addr = reinterpret_cast<std::uintptr_t>(from);
  request.len = static_cast<std::uint32_t>(count);
  request.off = offset;
  request.rw_flags = RWF_DSYNC;
  const unsigned tail = *submitted_tail_;
  *submitted_ = 0;
  store(submitted_tail_, tail + 1);
  int entered = enter(1, wait_for);
  while (load(submitted_head_) != tail + 1) {
    // Not taken, so nothing is on its way; and nothing may be left that a later call would submit. Why (a
    // sandbox that allows half of it, no memory) does not matter: it can be written otherwise.
    if (entered < 0 && errno != EINTR) {
      store(submitted_tail_, tail);
      return false;
    }
    entered = enter(1, wait_for);
  }
  return true;
}

std::optional<std::int64_t> IoRing::take_end() {
  const unsigned head = *ended_head_;
  if (load(ended_tail_) == head) return std::nullopt;
  const std::int64_t result = ended_[head & ended_mask_].res;
  store(ended_head_, head + 1);
  return result;
}

std::optional<std::int64_t> IoRing::poll() {
  // An end is told of twice: when it is to be looked after, and when it was.
  if (load(state_) & IORING_SQ_TASKRUN) enter(0, 0);
  return take_end();
}

std::int64_t IoRing::wait() {
  for (;;) {
    if (const std::optional<std::int64_t> result = take_end()) return *result;
    // It is on its way and ends some time: until then its memory is the kernel's.
    if (enter(0, 1) < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY) ::sched_yield();
  }
}

std::int64_t IoRing::write_synced(int file, const char* from, std::size_t count, std::uint64_t offset) {
  return submit(file, from, count, offset, 1) ? wait() : -EOPNOTSUPP;
}

}  // namespace onceward::embedded
