#include "ops/log.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const Timestamp noon{std::chrono::sys_days(std::chrono::year(2024) / 2 / 29) + 12h + 34min + 56s + 7ms};

AccessLine sample() {
  return {.time = noon,
          .method = "POST",
          .path = "/payments?card=4242#x",
          .status = 201,
          .operation = "payments.create",
          .outcome = "executed",
          .duration = 1'234'567ns,
          .upstream_duration = 1ms,
          .operation_id = "0192f",
          .epoch = 2,
          .key_hash = "0123456789abcdef",
          .bytes_in = 10,
          .bytes_out = 20,
          .peer = "127.0.0.1"};
}

std::string formatted(LogFormat format, const AccessLine& line) {
  std::string out;
  format_access(out, format, line);
  return out;
}

TEST(AccessLog, JsonHasEveryField) {
  const std::string line = formatted(LogFormat::json, sample());
  EXPECT_EQ(
      line,
      R"({"time":"2024-02-29T12:34:56.007Z","level":"info","event":"request","method":"POST","path":"/payments",)"
      R"("status":201,"operation":"payments.create","outcome":"executed","duration_ms":1.234,"upstream_ms":1.000,)"
      R"("operation_id":"0192f","epoch":2,"key_hash":"01234567","bytes_in":10,"bytes_out":20,"peer":"127.0.0.1"})"
      "\n");
}

TEST(AccessLog, WhatThereIsNotIsLeftOut) {
  AccessLine line = sample();
  line.upstream_duration = -1ns;
  line.operation_id = {};
  line.epoch = 0;
  line.key_hash = {};
  const boost::json::object json = boost::json::parse(formatted(LogFormat::json, line)).as_object();
  for (const char* name : {"upstream_ms", "operation_id", "epoch", "key_hash"})
    EXPECT_FALSE(json.contains(name));
}

TEST(AccessLog, TextIsOneLineForPeople) {
  EXPECT_EQ(formatted(LogFormat::text, sample()),
            "2024-02-29T12:34:56.007Z info    POST /payments 201 executed 1.234ms upstream=1.000ms "
            "operation=payments.create id=0192f epoch=2 key=01234567 in=10 out=20 peer=127.0.0.1\n");
  EXPECT_THAT(formatted(LogFormat::text, sample()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(formatted(LogFormat::colour, sample()), HasSubstr("\x1b["));
}

// A client chooses the path: whatever it sends stays on its line and moves no cursor.
TEST(AccessLog, AnyBytesOfThePathStayHarmless) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string path{'/', static_cast<char>(byte), 'x'};
    AccessLine line = sample();
    line.path = path;
    boost::json::error_code error;
    boost::json::parse(formatted(LogFormat::json, line), error);
    EXPECT_FALSE(error) << byte;
    const std::string text = formatted(LogFormat::text, line);
    EXPECT_EQ(text.find_first_of("\x1b\r\x07\x9b"), std::string::npos) << byte;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << byte;
  }
  AccessLine line = sample();
  line.path =
      "/\xc2\x9b"
      "31m";  // a C1 control in UTF-8
  EXPECT_THAT(formatted(LogFormat::text, line), HasSubstr("/\\xc2\\x9b31m"));
}

TEST(AccessLog, LongPathsAreCut) {
  const std::string path = "/" + std::string(100'000, 'a');
  AccessLine line = sample();
  line.path = path;
  EXPECT_LT(formatted(LogFormat::json, line).size(), 3000u);
}

TEST(LogMessage, CarriesFields) {
  std::string json, text;
  const std::initializer_list<LogField> fields = {
      {"address", std::string_view("a\"b")}, {"count", std::int64_t{-3}}, {"ok", true}};
  format_message(json, LogFormat::json, noon, LogLevel::warning, "slow\n", fields);
  format_message(text, LogFormat::text, noon, LogLevel::warning, "slow\n", fields);
  EXPECT_EQ(json,
            R"({"time":"2024-02-29T12:34:56.007Z","level":"warning","message":"slow\n","address":"a\"b",)"
            R"("count":-3,"ok":true})"
            "\n");
  EXPECT_EQ(text, "2024-02-29T12:34:56.007Z warning slow\\x0a address=a\"b count=-3 ok=true\n");
}

class Pipe {
 public:
  Pipe() {
    if (pipe(ends_.data()) != 0) ADD_FAILURE() << "no pipe";
  }
  ~Pipe() {
    close_reader();
    close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  // What is there now, without waiting.
  std::string read_available() const {
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t n = 0; (n = read(ends_[0], buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Log, FlushWritesWhatWasHandedOver) {
  Pipe pipe;
  Log log({.fd = pipe.writer()});
  log.info("hello", {{"n", std::int64_t{1}}});
  log.access(0, sample());
  log.flush();
  const auto lines = lines_of(pipe.read_available());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(log.dropped(), 0u);
}

TEST(Log, TheEndWritesWhatIsLeft) {
  Pipe pipe;
  {
    Log log({.fd = pipe.writer()});
    for (int i = 0; i < 100; ++i) log.info("line");
  }
  EXPECT_EQ(lines_of(pipe.read_available()).size(), 100u);
}

TEST(Log, LevelsBelowTheChosenOneAreNotWritten) {
  Pipe pipe;
  Log log({.level = LogLevel::warning, .fd = pipe.writer()});
  EXPECT_FALSE(log.enabled(LogLevel::info));
  log.message(LogLevel::debug, "d");
  log.info("i");
  log.warning("w");
  log.error("e");
  log.flush();
  EXPECT_EQ(lines_of(pipe.read_available()).size(), 2u);
}

TEST(Log, OffMeansNothingAtAll) {
  Pipe pipe;
  Log log({.level = LogLevel::off, .fd = pipe.writer()});
  EXPECT_FALSE(log.access_enabled());
  log.error("e");
  log.access(0, sample());
  log.flush();
  EXPECT_EQ(pipe.read_available(), "");
}

TEST(Log, AReaderThatStopsNeverBlocksAWorkerAndDropsAreReported) {
  Pipe pipe;
  std::string text;
  {
    Log log({.fd = pipe.writer(), .lane_bytes = 1 << 12});
    for (int i = 0; i < 2000; ++i) log.access(0, sample());  // far more than the pipe and the lane hold
    EXPECT_GT(log.dropped(), 0u);
    // The reader is back: everything that was kept arrives, and the number of lines that were not.
    std::uint64_t reported = 0;
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (reported != log.dropped() && std::chrono::steady_clock::now() < until) {
      text += pipe.read_available();
      reported = 0;
      for (const std::string& line : lines_of(text.substr(0, text.rfind('\n') + 1))) {
        const boost::json::object json = boost::json::parse(line).as_object();
        if (json.contains("dropped")) reported += static_cast<std::uint64_t>(json.at("dropped").as_int64());
      }
      std::this_thread::yield();
    }
    EXPECT_EQ(reported, log.dropped());
  }
}

TEST(Log, AReaderThatIsGoneOrStuckDoesNotHoldTheEnd) {
  Pipe stuck;
  const auto start = std::chrono::steady_clock::now();
  {
    Log log({.fd = stuck.writer()});
    for (int i = 0; i < 2000; ++i) log.access(0, sample());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
}

TEST(Log, LinesOfManyThreadsAreWholeAndInOrderPerThread) {
  char name[] = "/tmp/onceward_log_XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  unlink(name);
  constexpr std::size_t threads = 3;
  constexpr std::uint64_t each = 2000;
  {
    Log log({.fd = fd, .lanes = threads, .lane_bytes = std::size_t{1} << 20});
    std::vector<std::thread> workers;
    for (std::size_t lane = 0; lane < threads; ++lane) {
      workers.emplace_back([&log, lane] {
        const std::string peer = std::to_string(lane);
        for (std::uint64_t i = 0; i < each; ++i) {
          AccessLine line = sample();
          line.peer = peer;
          line.bytes_in = i;
          log.access(lane, line);
          if (i % 100 == 0) log.info("tick");
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(log.dropped(), 0u);
  }
  std::string text(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  ASSERT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  close(fd);
  std::array<std::int64_t, threads> next{};
  std::size_t ticks = 0;
  for (const std::string& line : lines_of(text)) {
    const boost::json::object json = boost::json::parse(line).as_object();
    if (json.contains("message")) {
      ++ticks;
      continue;
    }
    const auto lane = static_cast<std::size_t>(std::stoul(json.at("peer").as_string().c_str()));
    ASSERT_EQ(json.at("bytes_in").as_int64(), next[lane]++);
  }
  EXPECT_EQ(ticks, threads * each / 100);
  for (std::int64_t count : next) EXPECT_EQ(count, static_cast<std::int64_t>(each));
}

TEST(LogFormatChoice, APipeGetsJson) {
  Pipe pipe;
  EXPECT_EQ(choose_log_format(pipe.writer(), false), LogFormat::json);
  EXPECT_EQ(choose_log_format(pipe.writer(), true), LogFormat::json);
}

}  // namespace
}  // namespace onceward
