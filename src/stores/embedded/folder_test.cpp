// A folder that may only be read is refused and left as it is. The tests usually run as root, whom no mode
// keeps from writing: a child process gives up its rights, or sees the folder through a read-only mount.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

namespace fs = std::filesystem;

constexpr int as_expected = 0;
constexpr int cannot_be_tried = 77;
constexpr uid_t nobody = 65534;

class FolderTest : public EmbeddedTest {
 protected:
  FolderTest() { options_.durability = Durability::process; }

  std::map<std::string, std::pair<std::uint64_t, fs::file_time_type>> content() {
    std::map<std::string, std::pair<std::uint64_t, fs::file_time_type>> found;
    for (const auto& file : fs::directory_iterator(options_.dir))
      found[file.path().filename()] = {file.file_size(), file.last_write_time()};
    return found;
  }
  void set_modes(fs::perms folder, fs::perms file) {
    for (const auto& one : fs::directory_iterator(options_.dir)) fs::permissions(one.path(), file);
    fs::permissions(options_.dir, folder);
    fs::permissions(folder_.path(), fs::perms(0755));
  }

  // Opens in a child that `prepare` has taken the right to write from.
  template <class Prepare>
  int open_in_child(Prepare prepare) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!prepare()) ::_exit(cannot_be_tried);
      const auto opened = try_open();
      if (opened) ::_exit(1);
      if (opened.error().code != Errc::refused) ::_exit(2);
      ::_exit(opened.error().message.find("cannot write to the folder") == std::string::npos ? 3
                                                                                             : as_expected);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static bool become_nobody() {
    if (::geteuid() != 0) return true;  // modes bind this process already
    return ::setgid(nobody) == 0 && ::setuid(nobody) == 0;
  }
  bool mount_read_only() {
    const char* dir = options_.dir.c_str();
    return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(dir, dir, nullptr, MS_BIND, nullptr) == 0 &&
           ::mount(nullptr, dir, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  template <class Prepare>
  void expect_refused(Prepare prepare, const char* needs) {
    const auto before = content();
    const auto folder_before = fs::last_write_time(options_.dir);
    const int code = open_in_child(prepare);
    if (code == cannot_be_tried) GTEST_SKIP() << "A READ-ONLY FOLDER WAS NOT TESTED: it needs " << needs;
    EXPECT_EQ(code, as_expected) << "1: opened, 2: another kind of error, 3: another message";
    EXPECT_EQ(content(), before);
    EXPECT_EQ(fs::last_write_time(options_.dir), folder_before);
  }
};

TEST_F(FolderTest, OneThatMayOnlyBeReadIsRefusedAndLeftAsItIs) {
  open();
  must_complete("k", "kept");
  close();
  set_modes(fs::perms(0755), fs::perms(0644));
  expect_refused([] { return become_nobody(); }, "the right to become another user");
  set_modes(fs::perms(0700), fs::perms(0600));
  open();
  EXPECT_EQ(body_of("k"), "kept");
}

TEST_F(FolderTest, OneWhoseFilesMayBeWrittenAndWhichMayNotIsRefusedAndLeftAsItIs) {
  open();
  must_complete("k", "kept");
  close();
  set_modes(fs::perms(0555), fs::perms(0666));
  expect_refused([] { return become_nobody(); }, "the right to become another user");
  set_modes(fs::perms(0700), fs::perms(0600));
  open();
  EXPECT_EQ(body_of("k"), "kept");
}

TEST_F(FolderTest, AnEmptyOneThatMayOnlyBeReadIsRefusedAndLeftAsItIs) {
  fs::create_directory(options_.dir);
  set_modes(fs::perms(0555), fs::perms(0644));
  expect_refused([] { return become_nobody(); }, "the right to become another user");
}

TEST_F(FolderTest, OneOnAReadOnlyMountIsRefusedAndLeftAsItIs) {
  open();
  must_complete("k", "kept");
  close();
  expect_refused([this] { return mount_read_only(); }, "root and mount namespaces");
  open();
  EXPECT_EQ(body_of("k"), "kept");
}

}  // namespace
}  // namespace onceward::embedded
