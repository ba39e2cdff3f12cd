#include "stores/embedded/file.hpp"

#include <algorithm>
#include <cerrno>

namespace onceward::embedded {
namespace {

Result<Done> done_or_error(int result, const std::string& what) {
  if (result < 0) {
    Error error = file_error(what, result);
    if (result == -ENOSPC || result == -EDQUOT) error.code = Errc::refused;
    return error;
  }
  return Done{};
}

}  // namespace

Result<File> File::open(FileOps& ops, const std::string& path, int flags) {
  const int handle = ops.open(path, flags);
  if (handle < 0) {
    Error error = file_error("open " + path, handle);
    if (handle == -ENOENT) error.code = Errc::not_found;
    if (handle == -ENOSPC || handle == -EDQUOT) error.code = Errc::refused;
    return error;
  }
  return File(ops, handle, path);
}

Result<File> File::open_direct(FileOps& ops, const std::string& path) {
  const int handle = ops.open_direct(path);
  if (handle < 0) return file_error("open " + path, handle);
  return File(ops, handle, path);
}

Result<Done> File::write(std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const std::int64_t put = ops_->pwrite(handle_, bytes.data(), bytes.size(), offset);
    if (put < 0) return done_or_error(static_cast<int>(put), "write " + path_);
    if (put == 0) return Error{Errc::unavailable, "write " + path_ + ": nothing was written"};
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return Done{};
}

Result<bool> File::write_synced(std::span<const char> blocks, std::uint64_t offset) {
  return end_synced(blocks, offset, ops_->write_synced(handle_, blocks.data(), blocks.size(), offset));
}

bool File::begin_synced(IoRing& ring, std::span<const char> blocks, std::uint64_t offset) {
  return ops_->begin_synced(ring, handle_, blocks.data(), blocks.size(), offset);
}

Result<bool> File::end_synced(std::span<const char> blocks, std::uint64_t offset, std::int64_t put) {
  if (put == -EOPNOTSUPP || put == -EINVAL) return false;
  for (;;) {
    if (put < 0) return done_or_error(static_cast<int>(put), "write " + path_).error();
    if (put == 0) return Error{Errc::unavailable, "write " + path_ + ": nothing was written"};
    blocks = blocks.subspan(static_cast<std::size_t>(put));
    if (blocks.empty()) return true;
    offset += static_cast<std::uint64_t>(put);
    put = ops_->write_synced(handle_, blocks.data(), blocks.size(), offset);
  }
}

Result<Done> File::write_gently(std::string_view bytes, std::uint64_t offset) {
  constexpr std::size_t piece = 1 << 20;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())), offset += piece) {
    const std::string_view some = bytes.substr(0, piece);
    if (Result<Done> written = write(some, offset); !written) return written;
    Result<Done> taken = done_or_error(ops_->write_back(handle_, offset, some.size()), "write " + path_);
    if (!taken) return taken;
  }
  return Done{};
}

Result<std::size_t> File::read_some(char* to, std::size_t count, std::uint64_t offset) const {
  std::size_t total = 0;
  while (total < count) {
    const std::int64_t got = ops_->pread(handle_, to + total, count - total, offset + total);
    if (got < 0) return file_error("read " + path_, got);
    if (got == 0) break;
    total += static_cast<std::size_t>(got);
  }
  return total;
}

Result<std::string> File::read(std::size_t count, std::uint64_t offset) const {
  std::string bytes(count, '\0');
  const Result<std::size_t> got = read_some(bytes.data(), count, offset);
  if (!got) return got.error();
  if (*got != count) return Error{Errc::unreadable, path_ + " is shorter than its index says"};
  return bytes;
}

Result<Done> File::sync() { return done_or_error(ops_->fdatasync(handle_), "sync " + path_); }

Result<Done> File::allocate(std::uint64_t bytes) {
  return done_or_error(ops_->fallocate(handle_, bytes), "allocate " + path_);
}

Result<Done> File::truncate(std::uint64_t bytes) {
  return done_or_error(ops_->truncate(handle_, bytes), "truncate " + path_);
}

Result<std::uint64_t> File::size() const {
  const std::int64_t size = ops_->size(handle_);
  if (size < 0) return file_error("size of " + path_, size);
  return static_cast<std::uint64_t>(size);
}

Result<Done> File::lock() { return done_or_error(ops_->lock(handle_), "lock " + path_); }

}  // namespace onceward::embedded
