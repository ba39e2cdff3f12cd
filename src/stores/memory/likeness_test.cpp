#include "stores/memory/likeness.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/sha256.hpp"
#include "core/record_codec.hpp"
#include "core/scope.hpp"

namespace onceward::memory::testing {
namespace {

std::string encoding_of(int key, const std::string& headers, const std::string& body) {
  Record record;
  record.scope = Scope{sha256(std::to_string(key))};
  record.operation_id = make_operation_id(record.scope, Timestamp{}, 1);
  record.epoch = 1;
  record.state = State::succeeded;
  record.request = std::make_shared<const RequestInfo>(RequestInfo{
      "tenant", "orders.create", "01234567", {{"/amount", 7}, {"/sku", 8}}, std::string(32, 'c')});
  record.response = std::make_shared<const Response>(Response{201, false, headers, body});
  std::string encoding;
  encode_record(record, encoding);
  return encoding;
}

std::string packed(Likeness& likeness, const std::string& encoding, std::uint64_t shape = 1) {
  std::string packed;
  likeness.pack(encoding, shape, packed);
  EXPECT_EQ(Likeness::length_of(packed.data()), packed.size());
  return packed;
}

std::string unpacked(const Likeness& likeness, const std::string& packed) {
  std::string encoding;
  likeness.unpack(packed, encoding);
  return encoding;
}

const std::string headers = "Content-Type: application/json\r\nServer: orders\r\nDate: today\r\n";

TEST(LikenessTest, what_is_like_another_takes_less_than_half) {
  Likeness likeness;
  const std::string first = packed(likeness, encoding_of(1, headers, R"({"id":"order-1"})"));
  const std::string encoding = encoding_of(2, headers, R"({"id":"order-23"})");
  const std::string second = packed(likeness, encoding);
  EXPECT_LT(second.size() * 2, encoding.size());
  EXPECT_EQ(unpacked(likeness, second), encoding);
  EXPECT_EQ(Likeness::scope_of(second.data()), Scope{sha256("2")});
  EXPECT_EQ(unpacked(likeness, first), encoding_of(1, headers, R"({"id":"order-1"})"));
}

TEST(LikenessTest, a_model_stays_as_long_as_somebody_needs_it) {
  Likeness likeness;
  const std::string first = packed(likeness, encoding_of(1, headers, "one"));
  const std::string second = packed(likeness, encoding_of(2, headers, "two"));
  likeness.forget(first);
  EXPECT_EQ(unpacked(likeness, second), encoding_of(2, headers, "two"));
  EXPECT_GT(likeness.bytes(), 0u);
  likeness.forget(second);
  EXPECT_EQ(likeness.bytes(), 0u);
}

TEST(LikenessTest, what_is_unlike_its_model_is_kept_as_it_is) {
  Likeness likeness;
  const std::string first = packed(likeness, encoding_of(1, headers, std::string(300, 'x')));
  const std::string other = encoding_of(2, std::string(60, 'h'), std::string(300, 'y'));
  const std::string second = packed(likeness, other);
  likeness.forget(first);
  EXPECT_EQ(likeness.bytes(), 0u) << "the second does not use it";
  EXPECT_EQ(unpacked(likeness, second), other);
}

// Any two encodings, of any lengths and as like as may be.
TEST(LikenessTest, whatever_was_packed_is_unpacked_as_it_was) {
  std::mt19937 random(11);
  Likeness likeness;
  struct Kept {
    std::string packed;
    std::string encoding;
  };
  std::vector<Kept> kept;
  std::string like = encoding_of(0, headers, "body");
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 20 == 0)
      like = encoding_of(step, std::string(random() % 5000, 'h'), std::string(random() % 90, 'b'));
    std::string encoding = like;
    for (auto changes = random() % 12; changes > 0; --changes) {
      const std::size_t at = 41 + random() % (encoding.size() - 41);
      if (random() % 4 == 0) {
        encoding.resize(std::max<std::size_t>(at, 42));
      } else {
        encoding[at] = static_cast<char>(random());
      }
    }
    kept.push_back({packed(likeness, encoding, random() % 40), encoding});
    if (kept.size() > 200 || random() % 3 == 0) {
      std::swap(kept[random() % kept.size()], kept.back());
      EXPECT_EQ(unpacked(likeness, kept.back().packed), kept.back().encoding);
      likeness.forget(kept.back().packed);
      kept.pop_back();
    }
  }
  for (const Kept& one : kept) {
    EXPECT_EQ(unpacked(likeness, one.packed), one.encoding);
    likeness.forget(one.packed);
  }
  EXPECT_EQ(likeness.bytes(), 0u);
}

TEST(LikenessTest, large_ones_are_no_models) {
  Likeness likeness;
  const std::string encoding = encoding_of(1, headers, std::string(100'000, 'b'));
  const std::string large = packed(likeness, encoding);
  EXPECT_EQ(likeness.bytes(), 0u);
  EXPECT_EQ(unpacked(likeness, large), encoding);
}

}  // namespace
}  // namespace onceward::memory::testing
