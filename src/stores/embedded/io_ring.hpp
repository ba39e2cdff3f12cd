// IoRing: the kernel's queue of submitted writes (io_uring), for one write at a time. A write that is to be
// on disk when it ends has two waits, for the data and for the disk's cache. Handed over this way, the
// kernel's own thread sees to the second, and ours is woken once: a third of the CPU time of `pwrite` and
// `fdatasync`. By hand because one write at a time needs sixty lines of what a library would bring. One
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>

struct io_uring_sqe;
struct io_uring_cqe;

namespace onceward::embedded {

class IoRing {
 public:
  IoRing();
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  bool is_there() const { return ring_ >= 0; }  // an old kernel or a sandbox has none
  // On disk when it returns how much was written; or -errno. Nothing is tried twice.
  std::int64_t write_synced(int file, const char* from, std::size_t count, std::uint64_t offset);

 private:
  void close();
  int enter(unsigned submit) const;

  int ring_ = -1;
  char* queues_ = nullptr;  // both, shared with the kernel
  std::size_t queues_bytes_ = 0;
  io_uring_sqe* requests_ = nullptr;
  std::size_t requests_bytes_ = 0;
  unsigned* submitted_head_ = nullptr;
  unsigned* submitted_tail_ = nullptr;
  unsigned* submitted_ = nullptr;  // which of the requests; there is one
  unsigned* ended_head_ = nullptr;
  unsigned* ended_tail_ = nullptr;
  unsigned ended_mask_ = 0;
  io_uring_cqe* ended_ = nullptr;
};

}  // namespace onceward::embedded
