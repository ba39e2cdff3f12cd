#include "stores/embedded/folder.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "stores/embedded/log_format.hpp"
#include "stores/embedded/segment.hpp"

namespace onceward::embedded {
namespace {

constexpr std::string_view marker_start = "onceward embedded store, format ";

std::string marker_path(const std::string& folder) { return folder + "/onceward.store"; }

Error refused(const std::string& why) { return {Errc::refused, why}; }

// Names that may be there before the marker: an unfinished first start, and the API's token.
bool is_harmless(const std::string& name) {
  return name == "lock" || name == "onceward.store.new" || name == "admin.token";
}

// Files that may be written can stand in a folder that may not: then the log would end with its segment.
Result<Done> try_to_write(FileOps& ops, const std::string& folder) {
  const std::string path = spare_path(folder, 0);  // opening removes it, should the process die right here
  if (const Result<File> file = File::open(ops, path, O_RDWR | O_CREAT); !file) return file.error();
  ops.unlink(path);
  return Done{};
}

Result<Done> write_marker(FileOps& ops, const std::string& folder) {
  const std::string temporary = marker_path(folder) + ".new";
  Result<File> file = File::open(ops, temporary, O_RDWR | O_CREAT | O_TRUNC);
  if (!file) return file.error();
  const std::string text = std::string(marker_start) + std::to_string(plain_format) + "\n";
  if (Result<Done> written = file->write(text, 0); !written) return written;
  if (Result<Done> synced = file->sync(); !synced) return synced;
  if (const int result = ops.rename(temporary, marker_path(folder)); result < 0) {
    return file_error("rename " + temporary, result);
  }
  if (const int result = ops.sync_folder(folder); result < 0) return file_error("sync " + folder, result);
  return Done{};
}

}  // namespace

Result<Done> check_marker(FileOps& ops, const std::string& folder) {
  const Result<File> file = File::open(ops, marker_path(folder), O_RDONLY);
  if (!file) return file.error();
  char text[64] = {};
  const Result<std::size_t> got = file->read_some(text, sizeof text - 1, 0);
  if (!got) return got.error();
  const std::string_view line(text, *got);
  if (!line.starts_with(marker_start))
    return refused(folder + ": onceward.store is damaged or not ours: it should say \"" +
                   std::string(marker_start) + std::to_string(plain_format) + "\"");
  std::uint32_t format = 0;
  std::from_chars(line.data() + marker_start.size(), line.data() + line.size(), format);
  if (format == 0) return refused(folder + ": onceward.store names no format");
  if (format > plain_format) {
    return refused(folder + " has format " + std::to_string(format) + ", newer than this program's " +
                   std::to_string(plain_format));
  }
  return Done{};
}

Result<File> enter_folder(FileOps& ops, const std::string& folder) {
  if (const int result = ops.make_folder(folder); result < 0) {
    return refused("cannot make the folder " + file_error(folder, result).message);
  }
  std::vector<std::string> names;
  if (const int result = ops.list(folder, names); result < 0) {
    return refused("cannot read the folder " + file_error(folder, result).message);
  }
  const bool has_marker = std::find(names.begin(), names.end(), "onceward.store") != names.end();
  if (has_marker) {
    if (Result<Done> ours = check_marker(ops, folder); !ours) return ours.error();
  } else if (!std::all_of(names.begin(), names.end(), is_harmless)) {
    return refused(folder + " is not empty and not a store of ours; it was left as it is");
  }
  Result<File> lock = File::open(ops, folder + "/lock", O_RDWR | O_CREAT);
  if (!lock) return refused("cannot write to the folder: " + lock.error().message);
  if (const Result<Done> locked = lock->lock(); !locked) {
    return refused(folder + " is in use by another process (" + locked.error().message + ")");
  }
  if (Result<Done> tried = try_to_write(ops, folder); !tried) {
    return refused("cannot write to the folder: " + tried.error().message);
  }
  if (!has_marker) {
    if (Result<Done> marked = write_marker(ops, folder); !marked) {
      return refused("cannot write to the folder: " + marked.error().message);
    }
  }
  return lock;
}

}  // namespace onceward::embedded
