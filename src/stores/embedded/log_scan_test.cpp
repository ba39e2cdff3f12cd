#include "stores/embedded/log_scan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/scope.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t segment_bytes = 32 << 10;

Record record_for(int number, std::size_t body_bytes) {
  const ClaimRequest request = request_for("k" + std::to_string(number), Timestamp(1'700'000'000s));
  Record record;
  record.scope = request.scope;
  record.operation_id = request.operation_id;
  record.epoch = 1;
  record.state = State::succeeded;
  record.created_at = Timestamp(1'700'000'000s);
  record.expires_at = record.created_at + 24h;
  record.request = request.request;
  record.response = std::make_shared<const Response>(
      Response{200, false, "", std::string(body_bytes, static_cast<char>('a' + number % 26))});
  return record;
}

// A segment as the writer leaves it, and where each batch ends.
struct Log {
  SegmentHeader header;
  std::string bytes;
  std::vector<std::uint64_t> batch_ends;
  std::vector<Scope> scopes;  // in the order of the entries
  std::vector<std::size_t> entry_at;
  int batches = 0;

  Log() : bytes(segment_bytes, '\0') {
    header.id = 7;
    bytes.replace(0, segment_header_bytes, encode_segment_header(header));
    batch_ends.push_back(segment_header_bytes);
  }
  void add_batch(const std::vector<std::size_t>& bodies) {
    std::string batch(batch_header_bytes, '\0');
    for (const std::size_t body : bodies) {
      const Record record = record_for(static_cast<int>(scopes.size()), body);
      scopes.push_back(record.scope);
      entry_at.push_back(batch_ends.back() + batch.size());
      append_record_entry(record, batch);
    }
    BatchHeader batch_header;
    batch_header.payload_bytes = static_cast<std::uint32_t>(batch.size() - batch_header_bytes);
    batch_header.count = static_cast<std::uint32_t>(bodies.size());
    batch_header.sequence = static_cast<std::uint64_t>(++batches);
    batch_header.segment = header.id;
    encode_batch_header(batch_header, batch.data());
    bytes.replace(batch_ends.back(), batch.size(), batch);
    batch_ends.push_back(aligned(batch_ends.back() + batch.size()));
  }
};

Log sample() {
  Log log;
  log.add_batch({10});
  log.add_batch({300, 20, 1500});
  log.add_batch({0});
  log.add_batch({40, 700, 90});
  return log;
}

struct Scanned {
  Result<ScanResult> result = Error{};
  std::map<Scope, bool> readable;         // by scope
  std::map<std::uint64_t, bool> damaged;  // by prefix
};

Scanned scan(std::string_view bytes, const SegmentHeader& header, std::uint64_t trusted_end = 0) {
  Scanned scanned;
  scanned.result = scan_segment(bytes, header, trusted_end, [&](ScannedEntry&& entry) {
    if (entry.damaged) {
      scanned.damaged[entry.prefix] = true;
    } else {
      scanned.readable[entry.scope] = true;
    }
  });
  return scanned;
}

TEST(LogScan, FindsEveryEntryAndTheEnd) {
  const Log log = sample();
  const Scanned scanned = scan(log.bytes, log.header);
  ASSERT_TRUE(scanned.result) << scanned.result.error().message;
  EXPECT_EQ(scanned.result->end, log.batch_ends.back());
  EXPECT_EQ(scanned.result->sequence, 4u);
  EXPECT_FALSE(scanned.result->torn);
  EXPECT_EQ(scanned.readable.size(), log.scopes.size());
}

TEST(LogScan, OpensAnyPrefixWithAllWholeBatchesInIt) {
  const Log log = sample();
  for (std::size_t length = 0; length <= log.batch_ends.back() + 100; ++length) {
    const Scanned scanned = scan(std::string_view(log.bytes).substr(0, length), log.header);
    ASSERT_TRUE(scanned.result) << length << ": " << scanned.result.error().message;
    std::size_t whole = 0;
    const std::size_t counts[] = {0, 1, 4, 5, 8};
    for (std::size_t batch = 1; batch < log.batch_ends.size(); ++batch) {
      // The padding behind a batch may be missing.
      if (length + batch_alignment > log.batch_ends[batch] + batch_alignment - 1) whole = counts[batch];
    }
    ASSERT_GE(scanned.readable.size(), whole) << length;
    ASSERT_TRUE(scanned.damaged.empty()) << length;
  }
}

TEST(LogScan, CutsATailWhoseSectorsWereNotAllWritten) {
  const Log log = sample();
  // Lose each sector of the last batch in turn.
  const std::uint64_t last_batch = log.batch_ends[3];
  for (std::uint64_t sector = last_batch / 512; sector * 512 < log.batch_ends[4]; ++sector) {
    std::string torn = log.bytes;
    const std::uint64_t from = std::max<std::uint64_t>(sector * 512, last_batch);
    std::fill(torn.begin() + static_cast<std::ptrdiff_t>(from),
              torn.begin() + static_cast<std::ptrdiff_t>(sector * 512 + 512), '\0');
    const Scanned scanned = scan(torn, log.header);
    ASSERT_TRUE(scanned.result) << scanned.result.error().message;
    EXPECT_EQ(scanned.readable.size(), 5u) << sector;
    EXPECT_TRUE(scanned.damaged.empty());
    EXPECT_EQ(scanned.result->end, last_batch);
  }
}

TEST(LogScan, ABitFlippedAnywhereMakesItsRecordUnreadableAndNoOther) {
  const Log log = sample();
  for (std::size_t bit = segment_header_bytes * 8; bit < log.batch_ends.back() * 8; bit += 3) {
    std::string flipped = log.bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Scanned scanned = scan(flipped, log.header);
    ASSERT_TRUE(scanned.result) << "bit " << bit << ": " << scanned.result.error().message;
    for (std::size_t i = 0; i < log.scopes.size(); ++i) {
      const bool readable = scanned.readable.contains(log.scopes[i]);
      const bool damaged = scanned.damaged.contains(scope_prefix(log.scopes[i]));
      ASSERT_TRUE(readable || damaged) << "bit " << bit << " made record " << i << " a miss";
      const bool is_hit =
          bit / 8 >= log.entry_at[i] && (i + 1 == log.scopes.size() || bit / 8 < log.entry_at[i + 1]);
      if (!is_hit) ASSERT_TRUE(readable) << "bit " << bit << " took record " << i << " along";
    }
  }
}

TEST(LogScan, ARandomlyDamagedLogIsReadWithoutMissesOrRefused) {
  std::mt19937_64 random(99);
  const Log log = sample();
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = log.bytes;
    // Damage ends before the last batch: what is damaged there is told from a torn tail only by sectors.
    const std::uint64_t from = segment_header_bytes + random() % (log.batch_ends[3] - segment_header_bytes);
    const std::uint64_t length = 1 + random() % 600;
    for (std::uint64_t at = from; at < std::min(from + length, log.batch_ends[3]); ++at) {
      damaged[at] = random() % 4 == 0 ? '\0' : static_cast<char>(random());
    }
    const Scanned scanned = scan(damaged, log.header);
    if (!scanned.result) {
      EXPECT_EQ(scanned.result.error().code, Errc::unreadable);
      ++refused;
      continue;
    }
    for (const Scope& scope : log.scopes) {
      ASSERT_TRUE(scanned.readable.contains(scope) || scanned.damaged.contains(scope_prefix(scope)))
          << "round " << round;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 3000);
}

TEST(LogScan, BytesBehindTheTrustedEndNeverWere) {
  const Log log = sample();
  const Scanned scanned = scan(log.bytes, log.header, log.batch_ends[3]);
  ASSERT_TRUE(scanned.result);
  EXPECT_EQ(scanned.readable.size(), 5u);
}

TEST(LogScan, ALogThatEndsBeforeItsTrustedEndIsRefused) {
  const Log log = sample();
  const Scanned scanned = scan(log.bytes, log.header, log.batch_ends[4] + 64);
  ASSERT_FALSE(scanned.result);
  EXPECT_EQ(scanned.result.error().code, Errc::unreadable);
}

TEST(LogScan, AnUnsyncedLogMayHaveHoles) {
  Log log = sample();
  log.header.unsynced = true;
  std::fill(log.bytes.begin() + static_cast<std::ptrdiff_t>(log.batch_ends[1]),
            log.bytes.begin() + static_cast<std::ptrdiff_t>(log.batch_ends[2]), '\0');
  const Scanned scanned = scan(log.bytes, log.header);
  ASSERT_TRUE(scanned.result) << scanned.result.error().message;
  EXPECT_EQ(scanned.readable.size(), 5u);
}

}  // namespace
}  // namespace onceward::embedded
