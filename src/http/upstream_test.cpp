#include "http/upstream.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "http/testing.hpp"

namespace onceward::http {
namespace {

using namespace testing;

constexpr std::string_view request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n";

// An upstream pool on its own worker, and the listener that plays the upstream.
class UpstreamTest : public ::testing::Test {
 protected:
  void make(UpstreamOptions options = {}) {
    if (options.url.empty()) options.url = listener.url();
    worker.run([&] {
      auto made = Upstream::make(*worker, options);
      ASSERT_TRUE(made) << made.error().message;
      upstream = std::move(*made);
    });
  }
  void TearDown() override {
    worker.run([&] {
      lease.release();
      upstream.reset();
    });
  }
  void connect() {
    const std::string error = worker.run<std::string>([&]() -> Task<std::string> {
      auto made = co_await upstream->connect(net::Worker::now() + 30s);
      if (!made) co_return made.error().message;
      lease = std::move(*made);
      co_return "";
    });
    ASSERT_EQ(error, "");
  }
  Sent send(std::string_view body = "ab") {
    return worker.run<Sent>([&] { return lease.send(request, body, net::Worker::now() + 30s); });
  }
  HeadStatus read_head(Duration wait = 30s) {
    return worker.run<HeadStatus>([&] { return lease.read_head("POST", net::Worker::now() + wait); });
  }
  struct Body {
    BodyStatus status;
    std::string text;
  };
  Body read_body(Duration wait = 30s) {
    std::string text;
    const auto status =
        worker.run<BodyStatus>([&] { return lease.read_body(1'000'000, text, net::Worker::now() + wait); });
    return {status, text};
  }
  bool checkout_idle() {
    bool found = false;
    worker.run([&] {
      lease = upstream->checkout_idle();
      found = static_cast<bool>(lease);
    });
    return found;
  }
  void release() {
    worker.run([&] { lease.release(); });
  }

  RawListener listener;
  WorkerThread worker;
  std::unique_ptr<Upstream> upstream;
  Lease lease;
};

TEST_F(UpstreamTest, AConnectionIsReusedAfterACleanAnswer) {
  make();
  connect();
  Raw peer = listener.accept();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(send(), Sent::ok);
    EXPECT_EQ(peer.read_until("\r\n\r\nab"), std::string(request) + "ab");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\nabc");
    ASSERT_EQ(read_head(), HeadStatus::head);
    EXPECT_EQ(lease.head().status, 200);
    EXPECT_EQ(lease.head().headers.find("x"), "y");
    const Body body = read_body();
    EXPECT_EQ(body.status, BodyStatus::end);
    EXPECT_EQ(body.text, "abc");
    release();
    ASSERT_TRUE(checkout_idle());
    EXPECT_TRUE(lease.reused());
    EXPECT_EQ(lease.bytes_seen(), 0U);
  }
}

struct EndCase {
  const char* what;
  const char* answer;
  bool ends;  // the upstream closes after it
  HeadStatus head;
  BodyStatus body;
  const char* text;
  bool reusable;
};

TEST_F(UpstreamTest, WhatBecameOfAnAnswerIsTold) {
  const EndCase cases[] = {
      {"a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, HeadStatus::head, BodyStatus::end,
       "hi", true},
      {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n", false,
       HeadStatus::head, BodyStatus::end, "hi", true},
      {"until close", "HTTP/1.1 200 OK\r\n\r\nhi", true, HeadStatus::head, BodyStatus::end, "hi", false},
      {"204", "HTTP/1.1 204 No Content\r\n\r\n", false, HeadStatus::head, BodyStatus::end, "", true},
      {"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", false,
       HeadStatus::head, BodyStatus::end, "hi", false},
      {"bytes after the end", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1", false,
       HeadStatus::head, BodyStatus::end, "hi", false},
      {"nothing", "", true, HeadStatus::closed, {}, "", false},
      {"half a head", "HTTP/1.1 200 OK\r\nContent", true, HeadStatus::half, {}, "", false},
      {"not HTTP", "220 mail ESMTP\r\n\r\n", false, HeadStatus::bad, {}, "", false},
      {"ambiguous framing",
       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
       false,
       HeadStatus::bad,
       {},
       "",
       false},
      {"a short body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", true, HeadStatus::head,
       BodyStatus::closed, "hi", false},
      {"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", true,
       HeadStatus::head, BodyStatus::closed, "hi", false},
      {"a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nz\r\n", false,
       HeadStatus::head, BodyStatus::bad, "hi", false},
  };
  make();
  for (const EndCase& c : cases) {
    SCOPED_TRACE(c.what);
    connect();
    Raw peer = listener.accept();
    ASSERT_EQ(send(), Sent::ok);
    peer.read_until("\r\n\r\nab");
    peer.send(c.answer);
    if (c.ends) peer.close();
    ASSERT_EQ(read_head(), c.head);
    if (c.head == HeadStatus::head) {
      const Body body = read_body();
      EXPECT_EQ(body.status, c.body);
      EXPECT_EQ(body.text, c.text);
    }
    release();
    EXPECT_EQ(checkout_idle(), c.reusable);
    worker.run([&] {
      if (lease) lease.close();
    });
    release();
  }
}

TEST_F(UpstreamTest, AConnectionClosedWhileIdleIsNotHandedOut) {
  make();
  for (const bool closes : {true, false}) {
    connect();
    Raw peer = listener.accept();
    ASSERT_EQ(send(), Sent::ok);
    peer.read_until("\r\n\r\nab");
    peer.send("HTTP/1.1 204 No Content\r\n\r\n");
    ASSERT_EQ(read_head(), HeadStatus::head);
    release();
    if (closes)
      peer.close();
    else
      peer.send("HTTP/1.1 408 Request Timeout\r\n\r\n");
    EXPECT_FALSE(checkout_idle());  // the loopback has delivered it before close() or send() returned
  }
}

// None of them may come back to be looked at again.
TEST_F(UpstreamTest, ConnectionsThatSpokeWhileIdleAreForgotten) {
  make();
  std::vector<Raw> peers;
  std::vector<Lease> leases(3);
  for (Lease& used : leases) {
    connect();
    peers.push_back(listener.accept());
    ASSERT_EQ(send(), Sent::ok);
    peers.back().read_until("\r\n\r\nab");
    peers.back().send("HTTP/1.1 204 No Content\r\n\r\n");
    ASSERT_EQ(read_head(), HeadStatus::head);
    worker.run([&] { used = std::move(lease); });
  }
  worker.run([&] {
    for (Lease& used : leases) used.release();
    EXPECT_EQ(upstream->idle(), 3U);
  });
  for (Raw& peer : peers) peer.send("HTTP/1.1 408 Request Timeout\r\n\r\n");
  EXPECT_FALSE(checkout_idle());
  worker.run([&] { EXPECT_EQ(upstream->idle(), 0U); });
}

TEST_F(UpstreamTest, AnAnswerAfterATimeoutIsNotLost) {
  make();
  connect();
  Raw peer = listener.accept();
  ASSERT_EQ(send(), Sent::ok);
  peer.read_until("\r\n\r\nab");
  EXPECT_EQ(read_head(10ms), HeadStatus::timeout);
  peer.send("HTTP/1.1 200 OK\r\nContent-");
  EXPECT_EQ(read_head(10ms), HeadStatus::timeout);
  peer.send("Length: 4\r\n\r\nla");
  EXPECT_EQ(read_head(), HeadStatus::head);
  Body body = read_body(10ms);
  EXPECT_EQ(body.status, BodyStatus::timeout);
  EXPECT_EQ(body.text, "la");
  peer.send("te");
  body = read_body();
  EXPECT_EQ(body.status, BodyStatus::end);
  EXPECT_EQ(body.text, "te");
  release();
  EXPECT_TRUE(checkout_idle());
}

TEST_F(UpstreamTest, InformationalHeadsComeOneByOne) {
  make();
  connect();
  Raw peer = listener.accept();
  ASSERT_EQ(send(), Sent::ok);
  peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 204 X\r\n\r\n");
  for (const int status : {100, 103, 204}) {
    ASSERT_EQ(read_head(), HeadStatus::head);
    EXPECT_EQ(lease.head().status, status);
  }
  release();
  EXPECT_TRUE(checkout_idle());
}

TEST_F(UpstreamTest, ASendOnADeadConnectionSaysWhetherAnythingLeft) {
  make();
  connect();
  Raw peer = listener.accept();
  peer.reset();
  // A reset that has arrived makes the first write fail: provably nothing left.
  EXPECT_EQ(read_head(), HeadStatus::closed);
  EXPECT_EQ(send(), Sent::nothing_left);
}

TEST_F(UpstreamTest, ASendThatStopsInTheMiddleMayHaveBeenSent) {
  make();
  connect();
  Raw peer = listener.accept();
  const std::string body(64 * 1024 * 1024, 'x');
  EXPECT_EQ(worker.run<Sent>([&] { return lease.send(request, body, net::Worker::now() + 50ms); }),
            Sent::maybe_sent);
}

TEST_F(UpstreamTest, ARefusedConnectionIsAnError) {
  UpstreamOptions options;
  {
    RawListener gone;
    options.url = gone.url();
  }
  make(options);
  const bool refused = worker.run<bool>([&]() -> Task<bool> {
    auto made = co_await upstream->connect(net::Worker::now() + 30s);
    co_return !made;
  });
  EXPECT_TRUE(refused);
  EXPECT_EQ(upstream->in_use(), 0U);
}

TEST_F(UpstreamTest, NamesAreResolvedOffTheWorkersThread) {
  UpstreamOptions options;
  options.url = "http://localhost:" + listener.url().substr(listener.url().rfind(':') + 1);
  make(options);
  connect();
  EXPECT_EQ(upstream->in_use(), 1U);
}

TEST_F(UpstreamTest, ANameThatDoesNotExistIsAnError) {
  UpstreamOptions options;
  options.url = "http://name.invalid:1";
  options.connect_timeout = 30s;
  make(options);
  const std::string error = worker.run<std::string>([&]() -> Task<std::string> {
    auto made = co_await upstream->connect(net::Worker::now() + 30s);
    co_return made ? "" : made.error().message;
  });
  EXPECT_TRUE(error.find("name.invalid") != std::string::npos) << error;
}

TEST_F(UpstreamTest, IdleConnectionsPastTheirTimeAreClosed) {
  UpstreamOptions options;
  options.idle_timeout = 20ms;
  make(options);
  connect();
  Raw peer = listener.accept();
  ASSERT_EQ(send(), Sent::ok);
  peer.read_until("\r\n\r\nab");
  peer.send("HTTP/1.1 204 X\r\n\r\n");
  ASSERT_EQ(read_head(), HeadStatus::head);
  release();
  EXPECT_TRUE(peer.at_end());
}

TEST_F(UpstreamTest, WhoComesOverTheLimitWaitsForItsTurn) {
  UpstreamOptions options;
  options.max_connections = 1;
  options.connect_timeout = 30s;
  make(options);
  connect();
  Raw peer = listener.accept();
  std::promise<bool> second;
  worker.run([&] {
    spawn([](Upstream& pool, std::promise<bool>& done) -> Task<> {
      auto made = co_await pool.connect(net::Worker::now() + 30s);
      done.set_value(made && made->reused());
    }(*upstream, second));
  });
  ASSERT_EQ(send(), Sent::ok);
  peer.send("HTTP/1.1 204 X\r\n\r\n");
  ASSERT_EQ(read_head(), HeadStatus::head);
  release();
  EXPECT_TRUE(second.get_future().get());
  EXPECT_FALSE(listener.has_connection(0));
}

TEST_F(UpstreamTest, WaitingForATurnIsBounded) {
  UpstreamOptions options;
  options.max_connections = 1;
  options.connect_timeout = 20ms;
  make(options);
  connect();
  const bool refused = worker.run<bool>([&]() -> Task<bool> {
    auto made = co_await upstream->connect(net::Worker::now() + 30s);
    co_return !made && made.error().code == Errc::refused;
  });
  EXPECT_TRUE(refused);
}

TEST_F(UpstreamTest, ClosingWakesAReaderThatWaits) {
  make();
  connect();
  Raw peer = listener.accept();
  std::promise<HeadStatus> read;
  worker.run([&] {
    spawn([](Lease& reading, std::promise<HeadStatus>& done) -> Task<> {
      done.set_value(co_await reading.read_head("POST", net::Worker::now() + 60s));
    }(lease, read));
  });
  worker.run([&] { lease.close(); });
  EXPECT_EQ(read.get_future().get(), HeadStatus::closed);
}

TEST_F(UpstreamTest, ALeaseMayOutliveItsUpstream) {
  make();
  connect();
  Raw peer = listener.accept();
  ASSERT_EQ(send(), Sent::ok);
  worker.run([&] { upstream.reset(); });
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  ASSERT_EQ(read_head(), HeadStatus::head);
  EXPECT_EQ(read_body().text, "hi");
}

}  // namespace
}  // namespace onceward::http
