#include "net/stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/testing.hpp"

namespace onceward::net {
namespace {

using testing::WorkerThread;

// A connection whose peer has sent one byte, which was read.
class EmptiedStream : public ::testing::Test {
 protected:
  EmptiedStream() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    peer_ = ends[1];
    EXPECT_EQ(::write(peer_, "x", 1), 1);
    worker_.run([&] { stream_ = std::make_unique<Stream>(*worker_, ends[0]); });
  }
  ~EmptiedStream() override {
    worker_.run([this] { stream_.reset(); });
    close_peer();
  }
  void close_peer() {
    if (peer_ >= 0) ::close(std::exchange(peer_, -1));
  }
  void read_what_came() {
    std::array<char, 16> room{};
    EXPECT_EQ(stream_->try_read(room).bytes, 1u);
  }

  WorkerThread worker_;
  int peer_ = -1;
  std::unique_ptr<Stream> stream_;
};

TEST_F(EmptiedStream, IsQuietWhenNothingComes) {
  worker_.run([this] {
    read_what_came();
    EXPECT_TRUE(stream_->quiet()) << "before the loop has looked again";
  });
  worker_.run([this] { EXPECT_TRUE(stream_->quiet()) << "when it has looked and found nothing"; });
}

TEST_F(EmptiedStream, IsNotQuietWhenThePeerClosesBeforeTheLoopHasLookedAgain) {
  worker_.run([this] {
    read_what_came();
    close_peer();
    EXPECT_FALSE(stream_->quiet());
  });
}

TEST_F(EmptiedStream, IsNotQuietWhenTheLoopHasSeenThePeerClose) {
  worker_.run([this] { read_what_came(); });
  close_peer();
  worker_.run([this] { EXPECT_FALSE(stream_->quiet()); });
}

TEST_F(EmptiedStream, IsNotQuietWhenSomethingUnexpectedCame) {
  worker_.run([this] { read_what_came(); });
  ASSERT_EQ(::write(peer_, "y", 1), 1);
  worker_.run([this] { EXPECT_FALSE(stream_->quiet()); });
}

// What the loop has seen is good for a moment only.
TEST_F(EmptiedStream, IsNotQuietWhenThePeerClosesLongAfterTheLoopHasLooked) {
  worker_.run([this] { read_what_came(); });
  worker_.run([this] {
    close_peer();
    const MonoTime looked_at = Worker::recently();
    while (Worker::now() - looked_at < std::chrono::milliseconds(1)) continue;
    EXPECT_FALSE(stream_->quiet());
  });
}

}  // namespace
}  // namespace onceward::net
