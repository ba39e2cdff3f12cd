#include "http/server.hpp"

#include <gtest/gtest.h>

#include <string>

#include "http/testing.hpp"

namespace onceward::http {
namespace {

using namespace testing;
using ::testing::Test;

// Answers with method, target and body.
Task<> echo(Exchange& exchange) {
  std::string body;
  const ReadBody read = co_await exchange.read_body(1024 * 1024, body);
  if (read == ReadBody::too_large) {
    co_await exchange.respond(413, {}, "too large");
    co_return;
  }
  if (read != ReadBody::ok) {
    co_await exchange.respond(read == ReadBody::timeout ? 408 : 400, {}, "broken body");
    co_return;
  }
  const RequestHead& head = exchange.request();
  co_await exchange.respond(200, "X-Echo: 1\r\n",
                            std::string(head.method) + " " + std::string(head.target) + " " + body);
}

std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
std::string status_of(const std::string& answer) { return answer.size() < 12 ? answer : answer.substr(9, 3); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string post(std::string_view target, std::string_view body) {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

TEST(Server, KeepsConnectionsAndAnswersEachRequest) {
  RunningServer server(echo);
  Raw client = server.connect();
  for (int i = 0; i < 3; ++i) {
    client.send(post("/" + std::to_string(i), "hello"));
    const std::string answer = client.read_answer();
    EXPECT_EQ(status_of(answer), "200");
    EXPECT_EQ(body_of(answer), "POST /" + std::to_string(i) + " hello");
    EXPECT_TRUE(has(answer, "\r\nDate: ")) << answer;
    EXPECT_TRUE(has(answer, "\r\nX-Echo: 1\r\n")) << answer;
    EXPECT_FALSE(has(answer, "Connection:")) << answer;
  }
}

TEST(Server, AnswersPipelinedRequestsInTheirOrder) {
  RunningServer server(echo);
  Raw client = server.connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += post("/" + std::to_string(i), std::string(1000, 'x'));
  client.send(all);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(body_of(client.read_answer()), "POST /" + std::to_string(i) + " " + std::string(1000, 'x'));
}

TEST(Server, KeepsAConnectionWhoseReadingWasStoppedWhileNobodyRead) {
  RunningServer server([](Exchange& exchange) -> Task<> {
    exchange.stop_reading();
    exchange.read_on();
    co_await exchange.respond(200, {}, "ok");
  });
  Raw client = server.connect();
  for (int i = 0; i < 3; ++i) {
    client.send(post("/", "hello"));
    EXPECT_EQ(body_of(client.read_answer()), "ok");
  }
}

TEST(Server, ReadsARequestThatArrivesByteByByte) {
  RunningServer server(echo);
  Raw client = server.connect();
  for (char c : "\r\n" + post("/slow", "abc")) client.send({&c, 1});
  EXPECT_EQ(body_of(client.read_answer()), "POST /slow abc");
}

TEST(Server, ReadsChunkedBodies) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  client.send("2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n" + post("/next", ""));
  EXPECT_EQ(body_of(client.read_answer()), "POST /c abcde");
  EXPECT_EQ(body_of(client.read_answer()), "POST /next ");
}

TEST(Server, ReadsABodyLargerThanItsBuffer) {
  RunningServer server(echo);
  Raw client = server.connect();
  const std::string body(700'000, 'b');
  std::thread sender([&] { client.send(post("/big", body)); });
  const std::string answer = client.read_answer();
  sender.join();
  EXPECT_EQ(body_of(answer), "POST /big " + body);
  client.send(post("/after", ""));
  EXPECT_EQ(body_of(client.read_answer()), "POST /after ");
}

TEST(Server, Http10ClosesUnlessAskedToKeep) {
  RunningServer server(echo);
  Raw once = server.connect();
  once.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(has(once.read_answer(), "Connection: close\r\n"));
  EXPECT_TRUE(once.at_end());
  Raw kept = server.connect();
  kept.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(has(kept.read_answer(), "Connection: keep-alive\r\n"));
  kept.send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(kept.read_answer()), "GET /b ");
}

TEST(Server, AClientThatOnlyClosedItsOwnSideGetsItsAnswer) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send(post("/half", "abc"));
  client.shutdown_write();
  EXPECT_EQ(body_of(client.read_answer()), "POST /half abc");
  EXPECT_TRUE(client.at_end());
}

TEST(Server, WhatIsNotHttpIsRefusedAtOnce) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send("\x16\x03\x01");
  EXPECT_EQ(status_of(client.read_all()), "400");
}

TEST(Server, AHeldHeadGoesOutWithTheFirstWriteOrTheEnd) {
  RunningServer server([](Exchange& exchange) -> Task<> {
    const bool empty = exchange.request().target == "/empty";
    co_await exchange.start(200, {}, empty ? Body::length(0) : Body::length(3), {}, true);
    if (!empty) co_await exchange.write("abc");
    co_await exchange.finish();
  });
  Raw client = server.connect();
  client.send("GET /empty HTTP/1.1\r\nHost: h\r\n\r\nGET /full HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()), "");
  EXPECT_EQ(body_of(client.read_answer()), "abc");
}

TEST(Server, ConnectionCloseIsHonoured) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(has(client.read_answer(), "Connection: close\r\n"));
  EXPECT_TRUE(client.at_end());
}

TEST(Server, HeadAnd204And304HaveNoBody) {
  RunningServer server([](Exchange& exchange) -> Task<> {
    const std::string_view target = exchange.request().target;
    const int status = target == "/204" ? 204 : target == "/304" ? 304 : 200;
    co_await exchange.respond(status, {}, "body");
  });
  Raw client = server.connect();
  client.send("HEAD /200 HTTP/1.1\r\nHost: h\r\n\r\nGET /204 HTTP/1.1\r\nHost: h\r\n\r\n");
  client.send("GET /304 HTTP/1.1\r\nHost: h\r\n\r\nGET /200 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(has(client.read_until("\r\n\r\n"), "Content-Length: 4\r\n"));
  const std::string no_content = client.read_until("\r\n\r\n");
  EXPECT_EQ(status_of(no_content), "204");
  EXPECT_FALSE(has(no_content, "Content-Length"));
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), "304");
  EXPECT_EQ(body_of(client.read_answer()), "body");
}

TEST(Server, SendsContinueOnlyWhenTheBodyIsRead) {
  RunningServer server([](Exchange& exchange) -> Task<> {
    if (exchange.request().target == "/refuse") {
      co_await exchange.respond(403, {}, "no");
      co_return;
    }
    co_await echo(exchange);
  });
  const std::string lines = " HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  Raw client = server.connect();
  client.send("POST /take" + lines);
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(body_of(client.read_answer()), "POST /take abc");
  client.send("POST /refuse" + lines);
  const std::string refused = client.read_answer();
  EXPECT_EQ(status_of(refused), "403");
  EXPECT_TRUE(has(refused, "Connection: close\r\n"));
  EXPECT_TRUE(client.at_end());
}

TEST(Server, StreamsAnswersInChunksOrUntilCloseForOldClients) {
  RunningServer server([](Exchange& exchange) -> Task<> {
    co_await exchange.informational(103, "Link: </a>\r\n");
    co_await exchange.start(200, {}, Body::chunked());
    co_await exchange.write("abc");
    co_await exchange.write("");
    co_await exchange.write("defg");
    co_await exchange.finish();
  });
  Raw client = server.connect();
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  EXPECT_TRUE(has(client.read_until("\r\n\r\n"), "Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
  Raw old = server.connect();
  old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const std::string answer = old.read_all();
  EXPECT_FALSE(has(answer, "Transfer-Encoding"));
  EXPECT_EQ(body_of(answer), "abcdefg");
}

TEST(Server, AnAnswerThatIsNotFinishedIsSeenAsCut) {
  RunningServer server([](Exchange& exchange) -> Task<> {
    const bool length = exchange.request().target == "/length";
    co_await exchange.start(200, {}, length ? Body::length(10) : Body::until_close());
    co_await exchange.write("abc");
    if (length) EXPECT_FALSE(co_await exchange.finish());
  });
  for (const char* target : {"/length", "/close"}) {
    Raw client = server.connect();
    client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(client.was_reset()) << target;
  }
}

TEST(Server, AHandlerThatDoesNotAnswerIsA500) {
  RunningServer server([](Exchange&) -> Task<> { co_return; });
  Raw client = server.connect();
  client.send(post("/", "abc"));
  EXPECT_EQ(status_of(client.read_answer()), "500");
}

TEST(Server, AnUnreadBodyIsDrainedWhenSmallAndEndsTheConnectionWhenLarge) {
  RunningServer server([](Exchange& exchange) -> Task<> { co_await exchange.respond(200, {}, "ok"); });
  Raw client = server.connect();
  client.send(post("/", std::string(30'000, 'x')) + post("/", "second"));
  EXPECT_EQ(body_of(client.read_answer()), "ok");
  EXPECT_EQ(body_of(client.read_answer()), "ok");
  Raw large = server.connect();
  large.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + std::string(1000, 'x'));
  const std::string answer = large.read_answer();
  EXPECT_TRUE(has(answer, "Connection: close\r\n"));
  EXPECT_EQ(body_of(answer), "ok");
  EXPECT_TRUE(large.at_end());
}

TEST(Server, ABodyOverTheLimitIsRefusedAtOnce) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), "413");
  Raw chunked = server.connect();
  chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1fffff\r\n");
  std::thread sender([&] { chunked.send(std::string(1'100'000, 'x')); });
  EXPECT_EQ(status_of(chunked.read_answer()), "413");
  chunked.shutdown_write();
  sender.join();
}

TEST(Server, BadFramingIsAnsweredAndNothingAfterItIsRead) {
  std::atomic<int> handled = 0;
  RunningServer server([&](Exchange& exchange) -> Task<> {
    ++handled;
    co_await echo(exchange);
  });
  const std::string canary = "GET /canary HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string hostile[] = {
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 40\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\nHost: h\nContent-Length: 0\n\n",
      "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 33\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nX: a\r\n Content-Length: 9\r\n\r\n",
  };
  for (const std::string& request : hostile) {
    Raw client = server.connect();
    client.send(request + canary);
    const std::string answer = client.read_all();
    EXPECT_TRUE(status_of(answer) == "400" || status_of(answer) == "501") << answer;
    EXPECT_FALSE(has(answer, "canary")) << request;
  }
  EXPECT_EQ(handled, 0);
}

TEST(Server, BrokenChunksEndTheConnectionAfterTheAnswer) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX" +
              post("/canary", ""));
  const std::string answer = client.read_all();
  EXPECT_EQ(status_of(answer), "400");
  EXPECT_FALSE(has(answer, "canary"));
}

TEST(Server, HeadsAreBoundedInSizeAndTime) {
  ServerLimits limits;
  limits.header_bytes = 2048;
  RunningServer server(echo, limits);
  Raw large = server.connect();
  large.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(4000, 'x') + "\r\n\r\n");
  EXPECT_EQ(status_of(large.read_all()), "431");
  Raw endless = server.connect();
  endless.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(4000, 'x'));
  EXPECT_EQ(status_of(endless.read_all()), "431");
  limits.header_timeout = 50ms;
  RunningServer hasty(echo, limits);
  Raw slow = hasty.connect();
  slow.send("GET / HT");
  EXPECT_EQ(status_of(slow.read_all()), "408");
}

TEST(Server, HeadsAsLargeAsAllowedAreRead) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send("POST /h HTTP/1.1\r\nHost: h\r\nX: " + std::string(30'000, 'x') +
              "\r\nContent-Length: 20000\r\n\r\n" + std::string(20'000, 'y'));
  EXPECT_EQ(body_of(client.read_answer()), "POST /h " + std::string(20'000, 'y'));
}

TEST(Server, IdleConnectionsAreClosedWithoutAWord) {
  ServerLimits limits;
  limits.idle_timeout = 50ms;
  {
    RunningServer hasty(echo, limits);
    Raw silent = hasty.connect();
    EXPECT_EQ(silent.read_all(), "");
  }
  limits.idle_timeout = 2s;  // long enough for a busy machine to send a request
  RunningServer server(echo, limits);
  Raw used = server.connect();
  used.send(post("/", ""));
  EXPECT_EQ(status_of(used.read_answer()), "200");
  EXPECT_EQ(used.read_all(), "");
}

TEST(Server, ABodyThatDoesNotComeIsATimeout) {
  ServerLimits limits;
  limits.body_timeout = 50ms;
  RunningServer server(echo, limits);
  Raw client = server.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  const std::string answer = client.read_all();
  EXPECT_EQ(status_of(answer), "408");
  EXPECT_TRUE(has(answer, "Connection: close\r\n"));
}

TEST(Server, OtherExpectationsAreRefused) {
  RunningServer server(echo);
  Raw client = server.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: tea\r\n\r\nx");
  EXPECT_EQ(status_of(client.read_all()), "417");
}

TEST(Server, ConnectionsOverTheLimitAreToldSo) {
  ServerLimits limits;
  limits.max_connections = 1;
  RunningServer server(echo, limits);
  Raw first = server.connect();
  first.send(post("/", ""));
  EXPECT_EQ(status_of(first.read_answer()), "200");
  Raw second = server.connect();
  EXPECT_EQ(status_of(second.read_all()), "503");
  first.send(post("/", ""));
  EXPECT_EQ(status_of(first.read_answer()), "200");
}

TEST(Server, ATakenPortIsAnErrorUnlessItIsShared) {
  RunningServer server(echo);
  FunctionHandler handler(echo);
  server.worker.run([&] {
    Server other(*server.worker, handler);
    EXPECT_FALSE(other.listen({server.address}));
    const auto shared = other.listen({server.address}, true);
    ASSERT_TRUE(shared) << shared.error().message;
    EXPECT_EQ(shared->front(), server.address);
  });
}

TEST(Server, DrainingLetsRequestsFinishAndClosesIdleConnections) {
  std::promise<void> begun;
  auto server = std::make_unique<RunningServer>([&](Exchange& exchange) -> Task<> {
    if (exchange.request().target == "/slow") begun.set_value();
    co_await echo(exchange);
  });
  Raw idle = server->connect();
  idle.send(post("/", ""));
  EXPECT_EQ(status_of(idle.read_answer()), "200");
  Raw busy = server->connect();
  busy.send("POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n");
  begun.get_future().get();
  std::promise<bool> drained;
  (**&server->worker).call([&] {
    spawn([](Server& drain, std::promise<bool>& done) -> Task<> {
      done.set_value(co_await drain.drain(net::Worker::now() + 30s));
    }(*server->server, drained));
  });
  EXPECT_TRUE(idle.at_end());
  busy.send("abc");
  const std::string answer = busy.read_answer();
  EXPECT_EQ(body_of(answer), "POST /slow abc");
  EXPECT_TRUE(has(answer, "Connection: close\r\n"));
  busy.close();
  EXPECT_TRUE(drained.get_future().get());
  EXPECT_EQ(server->server->connections(), 0U);
}

TEST(Server, DrainingDoesNotWaitForTheRestOfABodyThatHasItsAnswer) {
  auto server = std::make_unique<RunningServer>(
      [](Exchange& exchange) -> Task<> { co_await exchange.respond(413, {}, "no"); });
  Raw client = server->connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nbegin");
  EXPECT_EQ(status_of(client.read_answer()), "413");
  std::promise<bool> drained;
  (**&server->worker).call([&] {
    spawn([](Server& drain, std::promise<bool>& done) -> Task<> {
      done.set_value(co_await drain.drain(net::Worker::now() + 10s));
    }(*server->server, drained));
  });
  EXPECT_TRUE(drained.get_future().get()) << "not within 10 s";
}

TEST(Server, AFailedWriteIsReportedAndNeverThrown) {
  std::promise<bool> result;
  RunningServer server([&](Exchange& exchange) -> Task<> {
    co_await exchange.start(200, {}, Body::chunked());
    const std::string piece(100'000, 'x');
    bool fine = true;
    for (int i = 0; i < 1000 && fine; ++i) fine = co_await exchange.write(piece);
    EXPECT_TRUE(exchange.client_gone());
    EXPECT_FALSE(co_await exchange.finish());
    result.set_value(fine);
  });
  Raw client = server.connect();
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.read_until("\r\n\r\n");
  client.reset();
  EXPECT_FALSE(result.get_future().get());
}

}  // namespace
}  // namespace onceward::http
