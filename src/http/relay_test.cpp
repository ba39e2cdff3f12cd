#include "http/relay.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <charconv>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "http/testing.hpp"

namespace onceward::http {
namespace {

using namespace testing;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
std::string status_of(const std::string& answer) { return answer.size() < 12 ? answer : answer.substr(9, 3); }

const std::function<PlainAnswer(int, RelayOutcome)> words = [](int status, RelayOutcome) {
  return PlainAnswer{"X-Problem: 1\r\n", "problem " + std::to_string(status)};
};

// A server that relays everything to the listener, which the test plays.
class RelayTest : public ::testing::Test {
 protected:
  void start(UpstreamOptions options = {}, ServerLimits limits = {}) {
    if (options.url.empty()) options.url = listener.url();
    server = std::make_unique<RunningServer>(
        [this](Exchange& exchange) -> Task<> {
          RelayOptions relaying;
          relaying.error_answer = &words;
          relaying.extra_request_lines = "Extra: 1\r\n";
          std::this_thread::sleep_for(busy_with_others);
          const RelayResult result = co_await relay(exchange, *server->upstream, relaying);
          last_outcome = result.outcome;
          last_status = result.status;
          ++relayed;
        },
        limits);
    server->make_upstream(options);
  }
  void wait_for(int count) {
    const auto limit = std::chrono::steady_clock::now() + 30s;
    while (relayed < count && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    ASSERT_EQ(relayed, count);
  }

  RawListener listener;
  std::chrono::milliseconds busy_with_others{0};
  std::unique_ptr<RunningServer> server;
  std::atomic<RelayOutcome> last_outcome{};
  std::atomic<int> last_status = 0;
  std::atomic<int> relayed = 0;
};

TEST_F(RelayTest, PassesARequestAndItsAnswerOn) {
  start();
  Raw client = server->connect();
  client.send("POST /a?b HTTP/1.1\r\nHost: shop\r\nX-One: 1\r\nContent-Length: 2\r\n\r\nhi");
  Raw peer = listener.accept();
  EXPECT_EQ(peer.read_until("\r\n\r\nhi"),
            "POST /a?b HTTP/1.1\r\nHost: shop\r\nX-One: 1\r\nX-Forwarded-For: 127.0.0.1\r\n"
            "X-Forwarded-Proto: http\r\nX-Forwarded-Host: shop\r\nContent-Length: 2\r\nExtra: 1\r\n\r\nhi");
  peer.send(
      "HTTP/1.1 201 Made\r\nDate: then\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 3\r\n\r\nyes");
  EXPECT_EQ(client.read_answer(), "HTTP/1.1 201 Made\r\nDate: then\r\nContent-Length: 3\r\n\r\nyes");
  wait_for(1);
  EXPECT_EQ(last_outcome, RelayOutcome::done);
  // The next request takes the same connection.
  client.send("HEAD /c HTTP/1.1\r\nHost: shop\r\n\r\n");
  EXPECT_TRUE(has(peer.read_until("\r\n\r\n"), "HEAD /c HTTP/1.1\r\n"));
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n");
  EXPECT_TRUE(has(client.read_until("\r\n\r\n"), "Content-Length: 99\r\n"));
  client.send("DELETE /d HTTP/1.1\r\nHost: shop\r\n\r\n");
  EXPECT_TRUE(has(peer.read_until("\r\n\r\n"), "DELETE /d HTTP/1.1\r\n"));
  peer.send("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), "204");
}

TEST_F(RelayTest, TheUpstreamHasItsTimeHoweverLongTheWorkerWasBusyBefore) {
  busy_with_others = 2500ms;
  start({.timeout = 2s});
  Raw client = server->connect();
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  Raw peer = listener.accept();
  peer.read_until("\r\n\r\n");
  peer.send("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), "204");
}

TEST_F(RelayTest, ServerSentEventsArriveAtOnce) {
  start();
  Raw client = server->connect();
  client.send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  Raw peer = listener.accept();
  peer.read_until("\r\n\r\n");
  peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
  EXPECT_TRUE(has(client.read_until("\r\n\r\n"), "Transfer-Encoding: chunked\r\n"));
  for (const std::string event : {"data: 1\n\n", "data: 2\n\n", "data: 3\n\n"}) {
    peer.send(event);
    EXPECT_EQ(client.read_until("\n\n\r\n"), "9\r\n" + event + "\r\n");  // before the next one is sent
  }
  peer.close();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
}

TEST_F(RelayTest, ChunkedRequestsAreStreamed) {
  start();
  Raw client = server->connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  Raw peer = listener.accept();
  EXPECT_TRUE(has(peer.read_until("\r\n\r\n"), "Transfer-Encoding: chunked\r\n"));
  client.send("3;ext\r\nabc\r\n");
  EXPECT_EQ(peer.read_until("abc\r\n"), "3\r\nabc\r\n");  // before the rest is sent
  client.send("0\r\nTrailer: x\r\n\r\n");
  EXPECT_EQ(peer.read_until("0\r\n\r\n"), "0\r\n\r\n");
  peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "2\r\nok\r\n0\r\n\r\n");
}

TEST_F(RelayTest, ContinueIsAnsweredHere) {
  start();
  Raw client = server->connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  Raw peer = listener.accept();
  EXPECT_FALSE(has(peer.read_until("\r\n\r\n"), "Expect"));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_EQ(peer.read_bytes(2), "hi");
  peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(body_of(client.read_answer()), "ok");
}

TEST_F(RelayTest, BothDirectionsFlowAtTheSameTime) {
  start();
  Raw client = server->connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  Raw peer = listener.accept();
  peer.read_until("\r\n\r\n");
  peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.read_until("\r\n\r\n");
  for (int i = 0; i < 5; ++i) {
    client.send("4\r\nping\r\n");
    EXPECT_EQ(peer.read_until("ping\r\n"), "4\r\nping\r\n");
    peer.send("4\r\npong\r\n");
    EXPECT_EQ(client.read_until("pong\r\n"), "4\r\npong\r\n");
  }
  client.send("0\r\n\r\n");
  EXPECT_EQ(peer.read_until("0\r\n\r\n"), "0\r\n\r\n");
  peer.send("0\r\n\r\n");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  wait_for(1);
  EXPECT_EQ(last_outcome, RelayOutcome::done);
}

// Sends a body's beginning, which the upstream answers at once. Its end of the connection, and the answer.
std::pair<Raw, std::string> answered_early(Raw& client, RawListener& listener, std::size_t length) {
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(length) + "\r\n\r\nbegin");
  Raw peer = listener.accept();
  peer.read_until("begin");
  peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
  std::string answer = client.read_answer();
  EXPECT_EQ(status_of(answer), "413");
  return {std::move(peer), std::move(answer)};
}

TEST_F(RelayTest, AnEarlyAnswerStopsTheUpload) {
  start();
  Raw client = server->connect();
  auto [peer, answer] = answered_early(client, listener, 1000000);
  EXPECT_TRUE(has(answer, "Connection: close\r\n"));
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(peer.at_end());
  client.close();
  wait_for(1);
}

TEST_F(RelayTest, AfterAnEarlyAnswerAConnectionWhoseBodyIsNearlyThereIsKeptAsSaid) {
  start();
  Raw client = server->connect();
  auto [peer, answer] = answered_early(client, listener, 1005);
  EXPECT_FALSE(has(answer, "Connection: close\r\n"));
  wait_for(1);
  client.send(std::string(1000, 'z') + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
  Raw next = listener.accept();
  EXPECT_TRUE(has(next.read_until("\r\n\r\n"), "GET /next "));
  next.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(status_of(client.read_answer()), "200");
}

TEST_F(RelayTest, LargeBodiesPassInFlatMemory) {
  start();
  constexpr std::size_t total = 96 * 1024 * 1024;
  const std::string block(1024 * 1024, 'z');
  Raw client = server->connect();
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  std::thread upstream([&] {
    Raw peer = listener.accept();
    peer.read_until("\r\n\r\n");
    EXPECT_EQ(peer.skip(total), total);
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(total) + "\r\n\r\n");
    for (std::size_t sent = 0; sent < total; sent += block.size()) peer.send(block);
  });
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(total) + "\r\n\r\n");
  for (std::size_t sent = 0; sent < total; sent += block.size()) ASSERT_TRUE(client.send(block));
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.skip(total), total);
  upstream.join();
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 48 * 1024) << "KiB more than before";
}

std::string some_text(std::size_t bytes, std::uint32_t seed) {
  std::minstd_rand random(seed);
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

// In chunks that are smaller and larger than any block that is read into.
std::string in_chunks(std::string_view body) {
  constexpr std::size_t sizes[] = {1, 70'000, 16'384, 3, 20'000, 140'000};
  std::string text;
  for (std::size_t i = 0; !body.empty(); ++i) {
    const std::string_view chunk = body.substr(0, sizes[i % std::size(sizes)]);
    std::array<char, 16> size{};
    text.append(size.data(), std::to_chars(size.begin(), size.end(), chunk.size(), 16).ptr);
    text.append("\r\n").append(chunk).append("\r\n");
    body.remove_prefix(chunk.size());
  }
  return text + "0\r\n\r\n";
}

std::string read_chunks(Raw& from) {
  std::string body;
  for (;;) {
    const std::size_t size = std::stoul(from.read_until("\r\n"), nullptr, 16);
    body += from.read_bytes(size);
    if (from.read_bytes(2) != "\r\n") return "not chunked";
    if (size == 0) return body;
  }
}

void send_in_pieces(Raw& to, std::string_view text, std::uint32_t seed) {
  std::minstd_rand random(seed);
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, 1 + random() % 100'000);
    to.send(piece);
    text.remove_prefix(piece.size());
  }
}

TEST_F(RelayTest, LongBodiesArriveWholeHoweverTheyAreFramedAndCut) {
  start();
  Raw client = server->connect();
  std::optional<Raw> peer;
  for (std::uint32_t round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const bool chunked = round % 2 == 1;
    const std::string sent = some_text(round * 9'001, round);
    const std::string answered = some_text(400'000 - round * 9'001, round + 100);
    const auto message = [chunked](const std::string& first_line, const std::string& body) {
      const std::string head = first_line + "\r\nHost: h\r\n";
      if (chunked) return head + "Transfer-Encoding: chunked\r\n\r\n" + in_chunks(body);
      return head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    };
    // With the next request right behind: none of it may be taken for the body.
    const std::string next = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n";
    const std::string text = message("POST / HTTP/1.1", sent) + next;
    std::jthread sending([&] { send_in_pieces(client, text, round); });
    if (!peer) peer.emplace(listener.accept());
    peer->read_until("\r\n\r\n");
    EXPECT_TRUE((chunked ? read_chunks(*peer) : peer->read_bytes(sent.size())) == sent);
    std::jthread answering([&] { send_in_pieces(*peer, message("HTTP/1.1 200 OK", answered), round); });
    client.read_until("\r\n\r\n");
    EXPECT_TRUE((chunked ? read_chunks(client) : client.read_bytes(answered.size())) == answered);
    answering.join();
    EXPECT_TRUE(peer->read_until("\r\n\r\n").starts_with("GET /next "));
    peer->send("HTTP/1.1 204 No Content\r\n\r\n");
    EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), "204");
  }
}

TEST_F(RelayTest, UpgradesBecomeATunnel) {
  start();
  Raw client = server->connect();
  client.send(
      "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\nearly");
  Raw peer = listener.accept();
  const std::string head = peer.read_until("\r\n\r\n");
  EXPECT_TRUE(has(head, "Connection: upgrade\r\n"));
  EXPECT_TRUE(has(head, "Upgrade: websocket\r\n"));
  peer.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nalso early");
  const std::string answer = client.read_until("\r\n\r\n");
  EXPECT_EQ(status_of(answer), "101");
  EXPECT_TRUE(has(answer, "Upgrade: websocket\r\n"));
  EXPECT_EQ(client.read_bytes(10), "also early");
  EXPECT_EQ(peer.read_bytes(5), "early");
  client.send("ping");
  EXPECT_EQ(peer.read_bytes(4), "ping");
  peer.send("pong");
  EXPECT_EQ(client.read_bytes(4), "pong");
  client.shutdown_write();
  EXPECT_TRUE(peer.at_end());
  peer.send("last");
  peer.close();
  EXPECT_EQ(client.read_all(), "last");
  wait_for(1);
  EXPECT_EQ(last_outcome, RelayOutcome::upgraded);
}

TEST_F(RelayTest, UpgradesToHttp2AreNotPassedOn) {
  start();
  Raw client = server->connect();
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
  Raw peer = listener.accept();
  EXPECT_FALSE(has(peer.read_until("\r\n\r\n"), "pgrade"));
  peer.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), "502");
}

TEST_F(RelayTest, FailuresAreAnsweredOrSeenAsCut) {
  struct Case {
    const char* what;
    Duration timeout;  // no case depends on this test being fast
    const char* answer;
    bool closes;
    const char* status;
    RelayOutcome outcome;
    bool cut;
  };
  const Case cases[] = {
      {"closed without an answer", 60s, "", true, "502", RelayOutcome::upstream_broken, false},
      {"half a head", 60s, "HTTP/1.1 200", true, "502", RelayOutcome::upstream_broken, false},
      {"no answer in time", 50ms, "", false, "504", RelayOutcome::upstream_timeout, false},
      {"bad framing", 60s, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       false, "502", RelayOutcome::upstream_broken, false},
      {"a short body", 60s, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", true, "200",
       RelayOutcome::upstream_broken, true},
      {"a body that stops", 2s, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", false, "200",
       RelayOutcome::upstream_timeout, true},
  };
  int count = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    UpstreamOptions options;
    options.timeout = c.timeout;
    start(options);
    Raw client = server->connect();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
    Raw peer = listener.accept();
    peer.read_until("\r\n\r\nhi");
    peer.send(c.answer);
    if (c.closes) peer.close();
    if (c.cut) {
      EXPECT_TRUE(client.was_reset());
    } else {
      const std::string answer = client.read_answer();
      EXPECT_EQ(status_of(answer), c.status);
      EXPECT_EQ(body_of(answer), std::string("problem ") + c.status);
    }
    wait_for(++count);
    EXPECT_EQ(last_outcome, c.outcome);
  }
}

TEST_F(RelayTest, AnUpstreamThatClosesDuringTheUploadIsToBlame) {
  start();
  Raw client = server->connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nbegin");
  Raw peer = listener.accept();
  peer.read_until("begin");
  peer.close();
  EXPECT_EQ(status_of(client.read_answer()), "502");
  client.close();
  wait_for(1);
  EXPECT_EQ(last_outcome, RelayOutcome::upstream_broken);
}

TEST_F(RelayTest, AnUnreachableUpstreamIsA502) {
  UpstreamOptions options;
  {
    RawListener gone;
    options.url = gone.url();
  }
  start(options);
  Raw client = server->connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(status_of(client.read_answer()), "502");
  wait_for(1);
  EXPECT_EQ(last_outcome, RelayOutcome::upstream_unreachable);
}

// The upstream closes the reused connection on seeing the request, before any byte of an answer.
TEST_F(RelayTest, OnlyASafeRequestIsSentAgainOnAFreshConnection) {
  start();
  for (const bool safe : {true, false}) {
    Raw client = server->connect();
    client.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n");
    Raw peer = listener.accept();
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 204 X\r\n\r\n");
    client.read_until("\r\n\r\n");
    client.send(safe ? "GET /again HTTP/1.1\r\nHost: h\r\n\r\n"
                     : "DELETE /again HTTP/1.1\r\nHost: h\r\n\r\n");
    peer.read_until("\r\n\r\n");
    peer.close();
    if (safe) {
      Raw fresh = listener.accept();
      EXPECT_TRUE(has(fresh.read_until("\r\n\r\n"), "GET /again"));
      fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
      EXPECT_EQ(body_of(client.read_answer()), "ok");
    } else {
      EXPECT_EQ(status_of(client.read_answer()), "502");
      EXPECT_FALSE(listener.has_connection(50));
    }
  }
}

TEST_F(RelayTest, AClientThatBreaksItsBodyEndsTheUpstreamsConnection) {
  for (const bool bad : {true, false}) {
    ServerLimits limits;
    limits.body_timeout = bad ? 60s : 50ms;
    start({}, limits);
    Raw client = server->connect();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    Raw peer = listener.accept();
    peer.read_until("abc\r\n");
    if (bad) client.send("nonsense\r\n");
    EXPECT_TRUE(peer.at_end());
    EXPECT_EQ(status_of(client.read_all()), bad ? "400" : "408");
  }
  wait_for(2);
  EXPECT_EQ(last_outcome, RelayOutcome::client_gone);
}

TEST_F(RelayTest, OldClientsGetTheAnswerUntilClose) {
  start();
  Raw client = server->connect();
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  Raw peer = listener.accept();
  EXPECT_TRUE(has(peer.read_until("\r\n\r\n"), "GET / HTTP/1.1\r\nHost: 127.0.0.1:"));
  peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_FALSE(has(answer, "chunked"));
  EXPECT_EQ(body_of(answer), "abc");
}

}  // namespace
}  // namespace onceward::http
