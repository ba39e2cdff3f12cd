#include "stores/embedded/file_ops.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "stores/embedded/io_ring.hpp"

namespace onceward::embedded {
namespace {

template <class T>
T or_errno(T result) {
  return result < 0 ? static_cast<T>(-errno) : result;
}

}  // namespace

int FileOps::open(const std::string& path, int flags) {
  return or_errno(::open(path.c_str(), flags | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

void FileOps::close(int file) { ::close(file); }

std::int64_t FileOps::pread(int file, char* to, std::size_t count, std::uint64_t offset) {
  ssize_t got = 0;
  do got = ::pread(file, to, count, static_cast<off_t>(offset));
  while (got < 0 && errno == EINTR);
  return or_errno<std::int64_t>(got);
}

std::int64_t FileOps::pwrite(int file, const char* from, std::size_t count, std::uint64_t offset) {
  ssize_t put = 0;
  do put = ::pwrite(file, from, count, static_cast<off_t>(offset));
  while (put < 0 && errno == EINTR);
  return or_errno<std::int64_t>(put);
}

// Never repeated, not even after EINTR: a second sync may report success for pages the first one lost.
int FileOps::fdatasync(int file) { return or_errno(::fdatasync(file)); }

// Other file systems take such writes too, and some forget the sync (FUSE, 9p). Of these it is known.
int FileOps::open_direct(const std::string& path) {
  const int file = open(path, O_RDWR | O_DIRECT);
  if (file < 0) return file;
  struct statfs system{};
  if (::fstatfs(file, &system) == 0 &&
      (system.f_type == EXT4_SUPER_MAGIC || system.f_type == XFS_SUPER_MAGIC)) {
    return file;
  }
  close(file);
  return -EOPNOTSUPP;
}

std::int64_t FileOps::write_synced(int file, const char* from, std::size_t count, std::uint64_t offset) {
  thread_local IoRing ring;  // belongs to the thread that made it
  return ring.is_there() ? ring.write_synced(file, from, count, offset) : -EOPNOTSUPP;
}

bool FileOps::begin_synced(IoRing& ring, int file, const char* from, std::size_t count,
                           std::uint64_t offset) {
  return ring.begin(file, from, count, offset);
}

std::optional<std::int64_t> FileOps::end_synced(IoRing& ring, bool wait) {
  return wait ? ring.wait() : ring.poll();
}

int FileOps::write_back(int file, std::uint64_t offset, std::uint64_t bytes) {
  constexpr unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const int result =
      or_errno(::sync_file_range(file, static_cast<off_t>(offset), static_cast<off_t>(bytes), all));
  // It only sets the pace. Where it is not to be had (a sandbox, some file systems), the sync that follows
  // does it all.
  return result == -EIO || result == -ENOSPC || result == -EDQUOT ? result : 0;
}

int FileOps::fallocate(int file, std::uint64_t bytes) {
  const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  return -error;
}

int FileOps::truncate(int file, std::uint64_t bytes) {
  return or_errno(::ftruncate(file, static_cast<off_t>(bytes)));
}

std::int64_t FileOps::size(int file) {
  struct stat status{};
  if (::fstat(file, &status) < 0) return -errno;
  return status.st_size;
}

int FileOps::rename(const std::string& from, const std::string& to) {
  return or_errno(::rename(from.c_str(), to.c_str()));
}

int FileOps::unlink(const std::string& path) { return or_errno(::unlink(path.c_str())); }

int FileOps::make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return 0;
  return -errno;
}

int FileOps::sync_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -errno;
  const int result = or_errno(::fsync(folder));
  ::close(folder);
  return result;
}

int FileOps::lock(int file) { return or_errno(::flock(file, LOCK_EX | LOCK_NB)); }

int FileOps::list(const std::string& folder, std::vector<std::string>& names) {
  DIR* dir = ::opendir(folder.c_str());
  if (!dir) return -errno;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(dir);
  return 0;
}

FileOps& system_file_ops() {
  static FileOps ops;
  return ops;
}

}  // namespace onceward::embedded
