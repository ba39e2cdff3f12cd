#include "stores/embedded/folder.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "core/crc32c.hpp"
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

std::string marker_line(std::uint32_t format) {
  return std::string(marker_start) + std::to_string(format) + "\n";
}

// Releases that know no checksum read the first line only.
std::string checksum_line(std::string_view line) {
  char text[32];
  std::snprintf(text, sizeof text, "crc32c %08x\n", crc32c(line));
  return text;
}

struct MarkerText {
  std::uint32_t format = 0;
  bool is_proven = false;  // by its checksum; the first markers had none
};

std::optional<MarkerText> parse_marker(std::string_view text) {
  if (!text.starts_with(marker_start)) return std::nullopt;
  MarkerText marker;
  std::from_chars(text.data() + marker_start.size(), text.data() + text.size(), marker.format);
  const std::string line = marker_line(marker.format);
  if (marker.format == 0 || !text.starts_with(line)) return std::nullopt;
  marker.is_proven = text.size() > line.size();
  if (marker.is_proven && text.substr(line.size()) != checksum_line(line)) return std::nullopt;
  return marker;
}

Error newer(const std::string& folder, std::uint32_t format) {
  return refused(folder + " has format " + std::to_string(format) + ", newer than this program's");
}

// Whether the segments, whose headers have checksums of their own, are ours.
Result<bool> has_our_segments(FileOps& ops, const std::string& folder) {
  std::vector<std::string> names;
  if (const int result = ops.list(folder, names); result < 0) return file_error("list " + folder, result);
  bool ours = false;
  for (const std::string& name : names) {
    const std::optional<SegmentId> id = id_of_name(name, ".log");
    if (!id) continue;
    const Result<File> file = File::open(ops, segment_path(folder, *id), O_RDONLY);
    if (!file) continue;
    const Result<std::string> bytes = file->read(segment_header_bytes, 0);
    const std::optional<SegmentHeader> header = bytes ? decode_segment_header(*bytes) : std::nullopt;
    if (!header || header->id != *id) continue;
    if (header->format > format_version) return newer(folder, header->format);
    ours = true;
  }
  return ours;
}

Result<Done> write_marker(FileOps& ops, const std::string& folder) {
  const std::string temporary = marker_path(folder) + ".new";
  Result<File> file = File::open(ops, temporary, O_RDWR | O_CREAT | O_TRUNC);
  if (!file) return file.error();
  const std::string line = marker_line(plain_format);
  if (Result<Done> written = file->write(line + checksum_line(line), 0); !written) return written;
  if (Result<Done> synced = file->sync(); !synced) return synced;
  if (const int result = ops.rename(temporary, marker_path(folder)); result < 0) {
    return file_error("rename " + temporary, result);
  }
  if (const int result = ops.sync_folder(folder); result < 0) return file_error("sync " + folder, result);
  return Done{};
}

}  // namespace

Result<Marker> check_marker(FileOps& ops, const std::string& folder) {
  const Result<File> file = File::open(ops, marker_path(folder), O_RDONLY);
  if (!file) return file.error();
  char text[128] = {};
  const Result<std::size_t> got = file->read_some(text, sizeof text, 0);
  if (!got) return got.error();
  const std::optional<MarkerText> marker = parse_marker({text, *got});
  if (marker && marker->format <= plain_format) return Marker::whole;
  if (marker && marker->is_proven) return newer(folder, marker->format);
  const Result<bool> ours = has_our_segments(ops, folder);
  if (!ours) return ours.error();
  if (*ours) return Marker::damaged;
  if (marker) return newer(folder, marker->format);
  return refused(folder + ": onceward.store is damaged or not ours: it should say \"" +
                 std::string(marker_start) + std::to_string(plain_format) + "\"");
}

Result<Entered> enter_folder(FileOps& ops, const std::string& folder) {
  if (const int result = ops.make_folder(folder); result < 0) {
    return refused("cannot make the folder " + file_error(folder, result).message);
  }
  std::vector<std::string> names;
  if (const int result = ops.list(folder, names); result < 0) {
    return refused("cannot read the folder " + file_error(folder, result).message);
  }
  const bool has_marker = std::find(names.begin(), names.end(), "onceward.store") != names.end();
  bool damaged = false;
  if (has_marker) {
    const Result<Marker> marker = check_marker(ops, folder);
    if (!marker) return marker.error();
    damaged = *marker == Marker::damaged;
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
  if (!has_marker || damaged) {
    if (Result<Done> marked = write_marker(ops, folder); !marked) {
      return refused("cannot write to the folder: " + marked.error().message);
    }
  }
  return Entered{std::move(*lock), damaged};
}

}  // namespace onceward::embedded
