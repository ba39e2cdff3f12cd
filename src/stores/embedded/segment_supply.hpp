// SegmentSupply: keeps one spare segment file ready, allocated and zeroed, so that the writer never
// waits for room, and so that there is always room for the outcomes of claims already made. Owned by the
// store; its own thread does the slow work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "stores/embedded/file.hpp"
#include "stores/embedded/segment.hpp"

namespace onceward::embedded {

class SegmentSupply {
 public:
  SegmentSupply(FileOps& ops, std::string folder, std::uint64_t segment_bytes, bool zeroed);
  ~SegmentSupply();

  void start();
  // Stops the thread after the work at hand.
  void stop();

  bool ready() const;
  // True while a spare could not be made: no new claims then.
  bool short_of_room() const { return short_of_room_.load(std::memory_order_relaxed); }
  // Waits until there is a spare or making one has failed; then says why.
  Result<Done> wait();
  // The spare, once there is one. The file is still called `spare`.
  Result<File> take();
  // Room may have come back (a segment was unlinked): try again now.
  void retry();
  // Work for the thread between spares, such as sealing.
  void run(std::function<void()> job);
  // Whether work that can be left undone should be.
  bool stopping() const;

  // A file of `bytes`, allocated, and zeroed up to `zeroed_bytes`.
  static Result<File> make(FileOps& ops, const std::string& path, std::uint64_t bytes,
                           std::uint64_t zeroed_bytes);

 private:
  void loop();
  void make_spare(std::unique_lock<std::mutex>& lock);

  FileOps& ops_;
  const std::string folder_;
  const std::uint64_t segment_bytes_;
  const bool zeroed_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable changed_;
  std::optional<File> spare_;
  std::optional<Error> failure_;
  std::atomic<bool> short_of_room_{false};
  std::uint64_t made_ = 0;
  bool retry_ = false;
  bool stopping_ = false;
  std::vector<std::function<void()>> jobs_;
  std::thread thread_;
};

}  // namespace onceward::embedded
