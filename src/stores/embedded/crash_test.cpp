// kill -9 at any moment: a child process does pairs and says over a pipe what was acknowledged; it is
// killed, the store opened, and everything that it had said must be there.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>

#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

struct Said {
  std::uint32_t key;
  std::uint32_t completed;  // 0: claimed
};

std::string body_for(std::uint32_t key) {
  return std::string(50 + key % 900, static_cast<char>('a' + key % 26));
}
std::string name_for(std::uint32_t key) { return "key" + std::to_string(key); }

class CrashTest : public EmbeddedTest {
 protected:
  static bool is_marked(std::uint32_t key) { return key % 3 == 0; }
  ClaimRequest request_of(std::uint32_t key, const std::string& other = "") {
    const ClaimRequest plain = request(other + name_for(key));
    return is_marked(key) ? marked_request(plain, name_for(key), std::chrono::hours(24)) : plain;
  }

  // A record has its mark, and a success its event.
  void check_is_whole(std::uint32_t key, const std::map<std::string, std::string>& events) {
    const Result<ClaimReply> other = caller_->claim(request_of(key, "other "));
    ASSERT_TRUE(other);
    ASSERT_FALSE(other->granted) << name_for(key);
    const Result<Record> record = caller_->lookup(request(name_for(key)).scope);
    ASSERT_TRUE(record);
    ASSERT_EQ(events.contains(event_of(*record, "").id), record->state == State::succeeded) << name_for(key);
  }

  void survive(int kills);

  [[noreturn]] void live(std::uint32_t first_key, int pipe) {
    Result<std::unique_ptr<EmbeddedStore>> store = try_open();
    if (!store) ::_exit(9);
    Caller caller(**store, first_key % 2 == 0 ? Writes::here : Writes::elsewhere);
    for (std::uint32_t key = first_key;; ++key) {
      const Result<ClaimReply> claimed = caller.claim(request_of(key));
      if (!claimed || !claimed->granted) ::_exit(8);
      const Said claim{key, 0};
      if (::write(pipe, &claim, sizeof claim) != sizeof claim) ::_exit(7);
      const Result<Record> done = is_marked(key) ? caller.complete_with_event(claimed->record, body_for(key))
                                                 : caller.complete(claimed->record, body_for(key));
      if (!done) ::_exit(6);
      const Said completion{key, 1};
      if (::write(pipe, &completion, sizeof completion) != sizeof completion) ::_exit(5);
    }
  }

  // Starts a life, kills it after it has said `count` things, and reads what it said.
  void one_life(std::uint32_t first_key, std::uint64_t count, std::uint64_t delay_us) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      live(first_key, ends[1]);
    }
    ::close(ends[1]);
    Said said{};
    std::uint64_t heard = 0;
    const auto hear = [&] {
      if (::read(ends[0], &said, sizeof said) != sizeof said) return false;
      said_[said.key] = std::max(said_[said.key], said.completed);
      ++heard;
      return true;
    };
    while (heard < count && hear()) {
    }
    // Not to wait for anything: the moment of death is what is being varied.
    ::usleep(static_cast<useconds_t>(delay_us));
    ::kill(child, SIGKILL);
    while (hear()) {
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);
    ASSERT_GT(heard, 0u);
  }

  std::map<std::uint32_t, std::uint32_t> said_;
};

void CrashTest::survive(int kills) {
  options_.segment_bytes = 32 << 10;
  std::mt19937_64 random(4242);
  std::uint32_t next_key = 1;
  std::uint32_t whole_until = 0;
  for (int kill = 0; kill < kills; ++kill) {
    ASSERT_NO_FATAL_FAILURE(one_life(next_key, 1 + random() % 12, random() % 300));
    const std::uint32_t newest = said_.rbegin()->first;
    next_key = newest + 100;  // the last pair of a life may have gone further than it could say
    if (kill % 10 != 9 && kill + 1 != kills) continue;
    open();
    for (const auto& [key, completed] : said_) {
      if (completed) {
        ASSERT_EQ(body_of(name_for(key)), body_for(key)) << "kill " << kill;
      } else {
        const std::string found = body_of(name_for(key));
        ASSERT_TRUE(found == "unknown" || found == body_for(key)) << "kill " << kill << ": " << found;
      }
    }
    if (kill % 100 == 99) {
      const std::map<std::string, std::string> events = caller_->events();
      for (auto at = said_.upper_bound(whole_until); at != said_.end(); ++at)
        if (is_marked(at->first)) ASSERT_NO_FATAL_FAILURE(check_is_whole(at->first, events));
      whole_until = newest;
    }
    close();
  }
  EXPECT_GT(said_.size(), static_cast<std::size_t>(kills));
}

TEST_F(CrashTest, NothingAcknowledgedIsLostInFiveHundredKills) {
  options_.durability = Durability::process;  // kill -9 says nothing about syncing; tests/powercut does
  survive(500);
}

// The writes that a kill leaves under way are others than those through the system's cache.
TEST_F(CrashTest, NothingAcknowledgedIsLostAroundTheCacheEither) { survive(100); }

}  // namespace
}  // namespace onceward::embedded
