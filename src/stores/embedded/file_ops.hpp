// FileOps: every touch of the disk by the embedded store, so that tests can make any of them fail. The
// real one calls the system; the tests' one counts, cuts short and refuses. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onceward::embedded {

class IoRing;

// All return a value >= 0, or -errno.
class FileOps {
 public:
  virtual ~FileOps() = default;
  virtual int open(const std::string& path, int flags);  // new files are readable by their owner only
  virtual void close(int file);
  virtual std::int64_t pread(int file, char* to, std::size_t count, std::uint64_t offset);
  virtual std::int64_t pwrite(int file, const char* from, std::size_t count, std::uint64_t offset);
  virtual int fdatasync(int file);
  // For write_synced: -EOPNOTSUPP where it is not known that what it writes is on disk when it returns.
  virtual int open_direct(const std::string& path);
  // Whole blocks: on disk when it returns how many bytes of them. -EOPNOTSUPP or -EINVAL: not to be had
  // here; pwrite and fdatasync of the same bytes make up for whatever was written.
  virtual std::int64_t write_synced(int file, const char* from, std::size_t count, std::uint64_t offset);
  // The same in two steps, on a ring of the calling thread. False: it was not begun.
  virtual bool begin_synced(IoRing& ring, int file, const char* from, std::size_t count,
                            std::uint64_t offset);
  // What write_synced would have returned; nothing: it has not ended, unless it is to be waited for.
  virtual std::optional<std::int64_t> end_synced(IoRing& ring, bool wait);
  // Has the disk take these bytes now; no promise that they survive, and nothing else waits for it.
  virtual int write_back(int file, std::uint64_t offset, std::uint64_t bytes);
  virtual int fallocate(int file, std::uint64_t bytes);
  virtual int truncate(int file, std::uint64_t bytes);
  virtual std::int64_t size(int file);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int unlink(const std::string& path);
  virtual int make_folder(const std::string& path);  // owner only; an existing one is no error
  virtual int sync_folder(const std::string& path);
  virtual int lock(int file);  // -EWOULDBLOCK when another process has it
  virtual int list(const std::string& folder, std::vector<std::string>& names);
};

FileOps& system_file_ops();

}  // namespace onceward::embedded
