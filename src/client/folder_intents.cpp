// One file per intent, appended to and synced, locked while it is open. The lock goes with the process, so
// that nothing is left to clean up after a kill -9.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "client/intent_store.hpp"

namespace onceward::client {
namespace {

constexpr std::size_t file_name_max = 180;
constexpr std::size_t file_bytes_max = std::size_t{1} << 30;

Error failed(const std::string& path, const char* doing) {
  return {Errc::unavailable, path + ": cannot " + doing + ": " + std::strerror(errno)};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int operator*() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Letters, digits, dots inside, dashes and underscores stay; the rest becomes %XX. A long name becomes its
// hash.
std::string file_name(const std::string& name) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  std::string text;
  for (const char c : name) {
    const bool keep = plain.find(c) != std::string_view::npos && !(c == '.' && text.empty());
    const auto byte = static_cast<std::uint8_t>(c);
    text += keep ? std::string(1, c) : "%" + to_hex({&byte, 1});
  }
  if (text.size() > file_name_max) text = "%" + to_hex(sha256(name));
  return text + ".intent";
}

Result<Done> sync_folder(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(*opened) != 0) return failed(folder, "sync");
  return Done{};
}

class FileState final : public detail::IntentState {
 public:
  FileState(std::string folder, std::string path, Descriptor file)
      : folder_(std::move(folder)), path_(std::move(path)), file_(std::move(file)) {}

  Result<Done> load() {
    std::string bytes;
    char piece[16384];
    ssize_t got = 0;
    while ((got = ::pread(*file_, piece, sizeof piece, static_cast<off_t>(bytes.size()))) > 0) {
      bytes.append(piece, static_cast<std::size_t>(got));
      if (bytes.size() > file_bytes_max) return Error{Errc::unreadable, path_ + ": too large for an intent"};
    }
    if (got < 0) return failed(path_, "read");
    auto last = last_entry(bytes);
    if (!last) return Error{last.error().code, path_ + ": " + last.error().message};
    if (*last) record = std::move(**last);
    end_ = whole_bytes(bytes);
    is_new_ = bytes.empty();
    return Done{};
  }

  Result<Done> save() override {
    const std::string entry = encode_entry(record);
    // What a crash left behind the last whole entry must not be read as part of this one.
    if (::ftruncate(*file_, static_cast<off_t>(end_)) != 0) return failed(path_, "write");
    for (std::size_t done = 0; done < entry.size();) {
      const ssize_t wrote =
          ::pwrite(*file_, entry.data() + done, entry.size() - done, static_cast<off_t>(end_ + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return failed(path_, "write");
      done += static_cast<std::size_t>(wrote);
    }
    if (::fdatasync(*file_) != 0) return failed(path_, "sync");
    // The file's name must survive too; once it has, it need not be synced again.
    if (is_new_) {
      if (const Result<Done> synced = sync_folder(folder_); !synced) return synced.error();
    }
    is_new_ = false;
    end_ += entry.size();
    return Done{};
  }

  Result<Done> remove() override {
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return failed(path_, "remove");
    return sync_folder(folder_);
  }

  // A file that somebody removed while we waited for its lock is not the intent any more.
  bool is_current() const {
    struct stat ours{}, named{};
    return ::fstat(*file_, &ours) == 0 && ::stat(path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
  }

 private:
  std::string folder_;
  std::string path_;
  Descriptor file_;
  std::size_t end_ = 0;
  bool is_new_ = true;
};

class FolderIntents final : public KeptIntents {
 public:
  explicit FolderIntents(std::string folder) : folder_(std::move(folder)) {}

 protected:
  Result<std::unique_ptr<detail::IntentState>> take(const std::string& name) override {
    const std::string path = folder_ + "/" + file_name(name);
    for (;;) {
      Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (!file) return failed(path, "open");
      if (::flock(*file, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? busy(name) : failed(path, "lock");
      auto state = std::make_unique<FileState>(folder_, path, std::move(file));
      if (!state->is_current()) continue;
      if (const Result<Done> loaded = state->load(); !loaded) return loaded.error();
      return std::unique_ptr<detail::IntentState>(std::move(state));
    }
  }

 private:
  std::string folder_;
};

}  // namespace

Result<std::shared_ptr<IntentStore>> IntentStore::in_folder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path(folder);
  if (!std::filesystem::is_directory(path, error)) {
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed(folder, "make the folder");
    if (const auto synced = sync_folder(path.has_parent_path() ? path.parent_path().string() : "."); !synced)
      return synced.error();
  }
  return std::shared_ptr<IntentStore>(std::make_shared<FolderIntents>(folder));
}

}  // namespace onceward::client
