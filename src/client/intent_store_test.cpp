#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "client/intent_state.hpp"
#include "support/temporary_folder.hpp"

namespace onceward::client {
namespace {

using detail::IntentState;

// The same rules for both stores; `reopen` is a restart where the store survives one.
class IntentStores : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    if (!GetParam()) {
      if (!store_) store_ = IntentStore::in_memory();
      return;
    }
    auto opened = IntentStore::in_folder(folder_.path() + "/a/b");
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *opened;
  }
  testing::TemporaryFolder folder_;
  std::shared_ptr<IntentStore> store_;
};

void save(Intent& intent) {
  const Result<Done> saved = IntentState::of(intent).save();
  ASSERT_TRUE(saved) << saved.error().message;
}

TEST_P(IntentStores, AnIntentKeepsItsKeyOverReopening) {
  std::string key;
  {
    Result<Intent> intent = store_->open("order 17/ü");
    ASSERT_TRUE(intent) << intent.error().message;
    key = intent->key();
    IntentState::of(*intent).record.in_doubt = true;
    save(*intent);
  }
  reopen();
  Result<Intent> again = store_->open("order 17/ü", *NewKey::given("another"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->key(), key);
  EXPECT_TRUE(again->in_doubt());
  EXPECT_EQ(again->name(), "order 17/ü");
}

TEST_P(IntentStores, AnIntentThatWasNeverKeptIsNewAgain) {
  {
    ASSERT_TRUE(store_->open("x", *NewKey::given("first")));
  }
  Result<Intent> again = store_->open("x", *NewKey::given("second"));
  EXPECT_EQ(again->key(), "second");
}

TEST_P(IntentStores, OnlyOneHasAnIntentOpen) {
  Result<Intent> first = store_->open("x");
  ASSERT_TRUE(first);
  reopen();
  const Result<Intent> second = store_->open("x");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict);
  EXPECT_TRUE(store_->open("y"));
  {
    const Intent gone = std::move(*first);
  }
  EXPECT_TRUE(store_->open("x"));
}

TEST_P(IntentStores, BeginningAnewIsRefusedWhileInDoubt) {
  {
    Result<Intent> intent = store_->open("x", *NewKey::given("old"));
    IntentState::of(*intent).record.in_doubt = true;
    save(*intent);
  }
  const Result<Intent> refused = store_->begin_anew("x", *NewKey::given("new"), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  const Result<Intent> forced = store_->begin_anew("x", *NewKey::given("new"), true);
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->key(), "new");
  EXPECT_FALSE(forced->in_doubt());
}

TEST_P(IntentStores, AForgottenIntentIsNewAgain) {
  Result<Intent> intent = store_->open("x", *NewKey::given("old"));
  save(*intent);
  ASSERT_TRUE(store_->forget(std::move(*intent)));
  intent = Error{};
  EXPECT_EQ(store_->open("x", *NewKey::given("new"))->key(), "new");
}

TEST_P(IntentStores, NamesThatDifferAreDifferentIntents) {
  std::vector<Result<Intent>> open;
  for (const std::string& name : {std::string("a/b"), std::string("a%2fb"), std::string("A/B"),
                                  std::string(".."), std::string(300, 'x'), std::string(301, 'x')}) {
    open.push_back(store_->open(name));
    EXPECT_TRUE(open.back()) << name << ": " << open.back().error().message;
  }
  EXPECT_FALSE(store_->open(""));
  EXPECT_FALSE(store_->open(std::string(2000, 'x')));
}

INSTANTIATE_TEST_SUITE_P(Memory, IntentStores, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Folder, IntentStores, ::testing::Values(true));

TEST(FolderIntents, FilesAreTheOwnersOnly) {
  const testing::TemporaryFolder folder;
  auto store = *IntentStore::in_folder(folder.path() + "/intents");
  Result<Intent> intent = store->open("x");
  save(*intent);
  struct stat info{};
  ASSERT_EQ(::stat((folder.path() + "/intents/x.intent").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((folder.path() + "/intents").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(FolderIntents, ADamagedFileIsAnErrorAndNotANewIntent) {
  const testing::TemporaryFolder folder;
  auto store = *IntentStore::in_folder(folder.path());
  {
    Result<Intent> intent = store->open("x");
    save(*intent);
  }
  {
    std::fstream file(folder.path() + "/x.intent", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    file.put('~');
  }
  const Result<Intent> opened = store->open("x");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unreadable);
}

TEST(FolderIntents, AnotherProcessCannotOpenItUntilTheFirstIsGone) {
  const testing::TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = *IntentStore::in_folder(folder.path());
    Result<Intent> intent = store->open("x", *NewKey::given("the child's"));
    const bool kept = intent && IntentState::of(*intent).save();
    if (::write(ready[1], kept ? "k" : "-", 1) == 1) ::pause();
    ::_exit(1);
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  ASSERT_EQ(told, 'k');
  auto store = *IntentStore::in_folder(folder.path());
  EXPECT_EQ(store->open("x").error().code, Errc::conflict);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(store->open("x")->key(), "the child's");
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace onceward::client
