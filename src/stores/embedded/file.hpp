// File: one open file of the store, closed with its owner. Reads and writes are whole or an Error.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "onceward/result.hpp"
#include "stores/embedded/file_ops.hpp"

namespace onceward::embedded {

inline Error file_error(const std::string& what, std::int64_t negative_errno) {
  const int code = static_cast<int>(-negative_errno);
  return {Errc::unavailable, what + ": " + std::strerror(code)};
}

class File {
 public:
  File(FileOps& ops, int handle, std::string path) : ops_(&ops), handle_(handle), path_(std::move(path)) {}
  File(File&& other) noexcept
      : ops_(other.ops_), handle_(std::exchange(other.handle_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    std::swap(ops_, other.ops_);
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~File() {
    if (handle_ >= 0) ops_->close(handle_);
  }

  static Result<File> open(FileOps& ops, const std::string& path, int flags);
  static Result<File> open_direct(FileOps& ops, const std::string& path);  // for write_synced

  Result<Done> write(std::string_view bytes, std::uint64_t offset);
  // Whole blocks, on disk when it returns. False: not to be had here; write the same bytes otherwise.
  Result<bool> write_synced(std::span<const char> blocks, std::uint64_t offset);
  // The same in two steps: false when it was not begun, and then what follows from the first one's result.
  bool begin_synced(IoRing& ring, std::span<const char> blocks, std::uint64_t offset);
  Result<bool> end_synced(std::span<const char> blocks, std::uint64_t offset, std::int64_t put);
  // A large write in pieces that the disk takes one after the other, before a sync: the log's own syncs go
  // on in between and do not wait for the whole.
  Result<Done> write_gently(std::string_view bytes, std::uint64_t offset);
  // Up to `count` bytes: less only at the end of the file.
  Result<std::size_t> read_some(char* to, std::size_t count, std::uint64_t offset) const;
  // Exactly `count` bytes, or Errc::unreadable where the file is too short.
  Result<std::string> read(std::size_t count, std::uint64_t offset) const;
  Result<Done> sync();
  Result<Done> allocate(std::uint64_t bytes);
  Result<Done> truncate(std::uint64_t bytes);
  Result<std::uint64_t> size() const;
  Result<Done> lock();

  const std::string& path() const { return path_; }
  void moved_to(std::string path) { path_ = std::move(path); }

 private:
  FileOps* ops_;
  int handle_;
  std::string path_;
};

}  // namespace onceward::embedded
