#include "core/record_codec.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/hex.hpp"
#include "core/transition.hpp"
#include "support/same_record.hpp"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::expect_same;

template <class B>
B filled(std::uint8_t first) {
  B bytes;
  for (std::size_t i = 0; i < bytes.data.size(); ++i) bytes.data[i] = static_cast<std::uint8_t>(first + i);
  return bytes;
}

Record sample() {
  Record record;
  record.scope = filled<Scope>(1);
  record.operation_id = filled<OperationId>(100);
  record.owner = filled<OwnerNonce>(200);
  record.epoch = 300;
  record.state = State::succeeded;
  record.fingerprint = {2, filled<Digest>(50)};
  record.created_at = Timestamp(1'700'000'000'000ms);
  record.claimed_at = record.created_at + 5s;
  record.updated_at = record.created_at + 6s;
  record.lease_until = record.created_at + 35s;
  record.hold_until = record.created_at + 600s;
  record.expires_at = record.created_at + 24h;
  record.ttl = 24h;
  record.receipt_ttl = 90 * 24h;
  record.request = std::make_shared<const RequestInfo>(
      RequestInfo{"acme", "payments.create", "0a1b2c3d", {{"/amount", 42}, {"/order", ~0ull}}, "c0ffee"});
  record.response = std::make_shared<const Response>(
      Response{201, false, "Content-Type: application/json\r\n", "{\"id\":7}"});
  return record;
}

std::string encoded(const Record& record) {
  std::string bytes;
  encode_record(record, bytes);
  return bytes;
}

// Written by the first release. Whatever this code becomes, it must go on reading these bytes.
constexpr const char* version_1_hex =
    "01e181ed4bfc0000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f206465666768696a"
    "6b6c6d6e6f70717273c8c9cacbcccdcecfd0d1d2d3d4d5d6d7ac0203050232333435363738393a3b3c3d3e3f40414243"
    "4445464748494a4b4c4d4e4f505180a0abfef962904ee05df0a204809f4980f0b25280f0b25280e0e2f7390461636d65"
    "0f7061796d656e74732e6372656174650830613162326333640663306666656502072f616d6f756e742a000000000000"
    "00062f6f72646572ffffffffffffffffc90120436f6e74656e742d547970653a206170706c69636174696f6e2f6a736f"
    "6e0d0a087b226964223a377d";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TEST(RecordCodec, ReadsTheBytesOfVersion1) {
  const Result<Record> record = decode_record(from_hex(version_1_hex));
  ASSERT_TRUE(record) << record.error().message;
  expect_same(*record, sample());
}

TEST(RecordCodec, WritesTheBytesOfVersion1) {
  const std::string bytes = encoded(sample());
  EXPECT_EQ(to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}), version_1_hex);
}

TEST(RecordCodec, WritesVersion2OnlyForWhatVersion1CannotSay) {
  Record record = sample();
  EXPECT_EQ(encoded(record)[0], 1);
  RequestInfo request = *record.request;
  request.probe_target = "/payments/by-operation/{operation_id}";
  record.request = std::make_shared<const RequestInfo>(request);
  EXPECT_EQ(encoded(record)[0], 2);
}

TEST(RecordCodec, WritesVersion3OnlyForMarksAReferenceOrAResult) {
  Record result = sample();
  result.result = std::make_shared<const OperationResult>(OperationResult{"order", "7", ""});
  EXPECT_EQ(encoded(result)[0], 3);
  Record reference = sample();
  RequestInfo request = *reference.request;
  request.reference = "A-17";
  reference.request = std::make_shared<const RequestInfo>(request);
  EXPECT_EQ(encoded(reference)[0], 3);
  Record marked = sample();
  request.reference.clear();
  request.marks = {Mark{}};
  marked.request = std::make_shared<const RequestInfo>(request);
  EXPECT_EQ(encoded(marked)[0], 3);
}

TEST(RecordCodec, KeepsEveryField) {
  struct Case {
    const char* name;
    void (*change)(Record&);
  };
  const Case cases[] = {
      {"as it is", [](Record&) {}},
      {"claimed", [](Record& r) { r.state = State::claimed, r.response = nullptr; }},
      {"unknown",
       [](Record& r) {
         r.state = State::unknown, r.response = nullptr,
         r.evidence = {UnknownCause::half_answer, 502, 1ull << 40};
       }},
      {"unbound", [](Record& r) { r.fingerprint = {}; }},
      {"no leaves", [](Record& r) { r.request = std::make_shared<const RequestInfo>(); }},
      {"a probe target",
       [](Record& r) {
         RequestInfo request = *r.request;
         request.probe_target = "/by-key/k%201?of=acme";
         r.request = std::make_shared<const RequestInfo>(request);
       }},
      {"a reference, marks and a result",
       [](Record& r) {
         RequestInfo request = *r.request;
         request.reference = "order A-17";
         Mark fact{.kind = MarkKind::unique, .scope = {}, .keep = Duration(1ll << 50), .refuses = true};
         fact.scope.data[31] = 0xff;
         request.marks = {
             fact, Mark{.kind = MarkKind::suspect, .scope = {}, .keep = Duration(1), .refuses = false}};
         r.request = std::make_shared<const RequestInfo>(request);
         r.result = std::make_shared<const OperationResult>(OperationResult{"payment", "pay/9", "declined"});
       }},
      {"body left out",
       [](Record& r) { r.response = std::make_shared<const Response>(Response{200, true, "A: b\r\n", ""}); }},
      {"zeros and high bytes",
       [](Record& r) {
         r.response =
             std::make_shared<const Response>(Response{500, false, "", std::string("\0\xff\r\n", 4)});
       }},
      {"extreme numbers",
       [](Record& r) {
         r.epoch = ~0ull;
         r.created_at = Timestamp::min(), r.claimed_at = Timestamp::max(), r.updated_at = Timestamp::min();
         r.ttl = Duration::max(), r.receipt_ttl = Duration::min();
       }},
      {"1 MiB body",
       [](Record& r) {
         r.response = std::make_shared<const Response>(Response{200, false, "", std::string(1 << 20, 'x')});
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Record record = sample();
    c.change(record);
    const std::string bytes = encoded(record);
    EXPECT_EQ(encoded_length(bytes), bytes.size());
    const Result<Record> read = decode_record(bytes);
    ASSERT_TRUE(read) << read.error().message;
    expect_same(*read, record);
  }
}

TEST(RecordCodec, KeepsRandomRecords) {
  std::mt19937_64 random(20240611);
  auto text = [&](std::size_t most) {
    std::string value(random() % (most + 1), '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    return value;
  };
  for (int round = 0; round < 500; ++round) {
    Record record = sample();
    record.epoch = random() >> (random() % 63);
    if (record.epoch == 0) record.epoch = 1;
    record.state = static_cast<State>(1 + random() % 7);
    const bool has_response = record.state == State::succeeded || record.state == State::failed;
    RequestInfo request{text(40), text(40), text(8), {}};
    for (std::size_t i = random() % 5; i > 0; --i) request.leaves.push_back({text(30), random()});
    record.request = std::make_shared<const RequestInfo>(request);
    record.response = nullptr;
    if (has_response) {
      record.response = std::make_shared<const Response>(
          Response{static_cast<std::uint16_t>(random()), random() % 2 == 0, text(200), text(2000)});
    }
    const Result<Record> read = decode_record(encoded(record));
    ASSERT_TRUE(read) << "round " << round << ": " << read.error().message;
    expect_same(*read, record);
  }
}

TEST(RecordCodec, CallsEveryFlippedBitUnreadable) {
  const std::string bytes = encoded(sample());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const Result<Record> read = decode_record(damaged);
    ASSERT_FALSE(read) << "bit " << bit;
    EXPECT_EQ(read.error().code, Errc::unreadable);
  }
}

TEST(RecordCodec, CallsEveryOtherLengthUnreadable) {
  const std::string bytes = encoded(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_record(std::string_view(bytes).substr(0, length))) << length;
  }
  EXPECT_FALSE(decode_record(bytes + "x"));
}

TEST(RecordCodec, SaysThatANewerVersionIsUnreadable) {
  std::string bytes = encoded(sample());
  bytes[0] = record_version + 1;
  const Result<Record> read = decode_record(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::unreadable);
  EXPECT_NE(read.error().message.find("newer"), std::string::npos);
}

}  // namespace
}  // namespace onceward
