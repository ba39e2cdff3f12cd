// A good log with the input's bytes written somewhere into it: the scan reads it or refuses it, and a
// record outside of what was overwritten, followed by a good batch, is never a miss.
#include <cstdlib>
#include <set>
#include <string>

#include "core/scope.hpp"
#include "stores/embedded/log_scan.hpp"

namespace {

using namespace onceward;
using namespace onceward::embedded;

struct Log {
  SegmentHeader header;
  std::string bytes;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;  // of each record's batch
  std::vector<Scope> scopes;
};

Record record_for(std::size_t number) {
  Record record;
  record.scope = scope_of("t", "c", "o", std::to_string(number), "");
  record.operation_id = make_operation_id(record.scope, {}, 0);
  record.epoch = 1;
  record.state = State::succeeded;
  record.request = std::make_shared<const RequestInfo>();
  record.response = std::make_shared<const Response>(Response{200, false, "", std::string(40 * number, 'x')});
  return record;
}

Log make_log() {
  Log log;
  log.header.id = 3;
  log.bytes.assign(16 << 10, '\0');
  log.bytes.replace(0, segment_header_bytes, encode_segment_header(log.header));
  std::uint64_t at = segment_header_bytes;
  for (std::size_t number = 0; number < 12; ++number) {
    std::string batch(batch_header_bytes, '\0');
    append_record_entry(record_for(number), batch);
    BatchHeader header;
    header.payload_bytes = static_cast<std::uint32_t>(batch.size() - batch_header_bytes);
    header.count = 1;
    header.sequence = number + 1;
    header.segment = log.header.id;
    encode_batch_header(header, batch.data());
    log.bytes.replace(at, batch.size(), batch);
    log.scopes.push_back(record_for(number).scope);
    log.spans.emplace_back(at, aligned(at + batch.size()));
    at = aligned(at + batch.size());
  }
  return log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const Log log = make_log();
  if (size < 4) return 0;
  const std::size_t length = std::min(size - 4, log.bytes.size() - segment_header_bytes);
  const std::size_t reach = log.bytes.size() - segment_header_bytes - length + 1;
  const std::size_t from = segment_header_bytes + (data[0] * 256u + data[1]) % reach;
  std::string bytes = log.bytes;
  bytes.replace(from, length, reinterpret_cast<const char*>(data) + 4, length);
  if (data[2] % 4 == 0) bytes.resize(bytes.size() * data[3] / 255);
  std::set<Scope> readable;
  std::set<std::uint64_t> damaged;
  const Result<ScanResult> scan = scan_segment(bytes, log.header, 0, [&](ScannedEntry&& entry) {
    if (entry.damaged) {
      damaged.insert(entry.prefix);
    } else {
      readable.insert(entry.scope);
    }
  });
  if (!scan) return scan.error().code == Errc::unreadable ? 0 : (std::abort(), 0);
  for (std::size_t i = 0; i < log.scopes.size(); ++i) {
    const auto [begin, end] = log.spans[i];
    const bool intact = end <= bytes.size() && (end <= from || begin >= from + length);
    if (intact && end <= from && !readable.contains(log.scopes[i])) std::abort();
    const bool last_is_good =
        bytes.size() >= log.spans.back().second && from + length <= log.spans.back().first;
    const bool known = readable.contains(log.scopes[i]) || damaged.contains(scope_prefix(log.scopes[i]));
    if (last_is_good && !known) std::abort();
  }
  return 0;
}
