// IoRing: the kernel's queue of submitted writes (io_uring), for one write at a time. A write that is to be
// on disk when it ends has two waits, for the data and for the disk's cache. Handed over this way, the
// kernel's own thread sees to the second, and ours is woken once: a third of the CPU time of `pwrite` and
// `fdatasync`; or it goes on with other work and hears of the end by a file that it watches. By hand
// because one write at a time needs a hundred lines of what a library would bring. The thread that made it
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

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

  // The same without waiting: a file that can be read when a write may have ended; -errno.
  int tell_of_ends();
  // False: it was not taken, nothing is on its way.
  bool begin(int file, const char* from, std::size_t count, std::uint64_t offset) {
    return submit(file, from, count, offset, 0);
  }
  // What write_synced would have returned, once the write that was begun has ended.
  std::optional<std::int64_t> poll();
  std::int64_t wait();

 private:
  void close();
  int enter(unsigned submit, unsigned wait_for) const;
  bool submit(int file, const char* from, std::size_t count, std::uint64_t offset, unsigned wait_for);
  std::optional<std::int64_t> take_end();

  int ring_ = -1;
  int ends_ = -1;
  char* queues_ = nullptr;  // both, shared with the kernel
  std::size_t queues_bytes_ = 0;
  io_uring_sqe* requests_ = nullptr;
  std::size_t requests_bytes_ = 0;
  unsigned* submitted_head_ = nullptr;
  unsigned* submitted_tail_ = nullptr;
  unsigned* submitted_ = nullptr;  // which of the requests; there is one
  unsigned* state_ = nullptr;
  unsigned* ended_head_ = nullptr;
  unsigned* ended_tail_ = nullptr;
  unsigned ended_mask_ = 0;
  io_uring_cqe* ended_ = nullptr;
};

}  // namespace onceward::embedded
