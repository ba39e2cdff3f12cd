#include "core/record_codec.hpp"

#include <bit>
#include <cstring>

#include "base/assert.hpp"
#include "core/crc32c.hpp"
#include "core/transition.hpp"

namespace onceward {
namespace {

constexpr std::size_t crc_at = 1;
constexpr std::size_t length_at = 5;
constexpr std::size_t head_bytes = 9;

enum Flag : std::uint8_t {
  has_response = 1,
  body_omitted = 2,
  is_bound = 4,
  has_evidence = 8,
  has_probe_target = 16,  // since version 2
  has_marks = 32,         // since version 3, like those that follow
  has_reference = 64,
  has_result = 128,
};
constexpr std::uint8_t earlier_too_bit = 0x80;  // of the byte that has the evidence's cause

// The put functions write at `out` and move it on; encoded_bytes_max has made sure that there is room.
template <std::size_t N>
void put_bytes(char*& out, const std::array<std::uint8_t, N>& bytes) {
  std::memcpy(out, bytes.data(), N);
  out += N;
}

void put_byte(char*& out, std::uint8_t value) { *out++ = static_cast<char>(value); }

constexpr std::size_t number_bytes_max = 10;

void put_number(char*& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
  *out++ = static_cast<char>(value);
}

void put_signed(char*& out, std::int64_t value) {
  put_number(out, (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

// Times lie close together, so they are kept as distances; unsigned, so that extremes wrap harmlessly.
void put_time(char*& out, Timestamp time, Timestamp base) {
  const auto distance = static_cast<std::uint64_t>(time.time_since_epoch().count()) -
                        static_cast<std::uint64_t>(base.time_since_epoch().count());
  put_signed(out, static_cast<std::int64_t>(distance));
}

void put_text(char*& out, std::string_view text) {
  put_number(out, text.size());
  out += text.copy(out, text.size());
}

void put_u64(char*& out, std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::big) value = std::byteswap(value);
  std::memcpy(out, &value, sizeof value);
  out += sizeof value;
}

void put_request(char*& out, const RequestInfo& request) {
  put_text(out, request.tenant);
  put_text(out, request.operation);
  put_text(out, request.key_hint);
  put_text(out, request.owner_tag);
  put_number(out, request.leaves.size());
  for (const Leaf& leaf : request.leaves) {
    put_text(out, leaf.pointer);
    put_u64(out, leaf.digest);
  }
}

std::uint8_t version_of(const Record& record) {
  const RequestInfo& request = *record.request;
  if (!request.marks.empty() || !request.reference.empty() || record.result) return 3;
  return request.probe_target.empty() ? 1 : 2;
}

constexpr std::uint8_t refuses_bit = 0x80;  // of the byte that has the mark's kind

void put_marks(char*& out, const std::vector<Mark>& marks) {
  put_number(out, marks.size());
  for (const Mark& mark : marks) {
    put_byte(out, static_cast<std::uint8_t>(mark.kind) | (mark.refuses ? refuses_bit : 0));
    put_bytes(out, mark.scope.data);
    put_signed(out, mark.keep.count());
  }
}

void put_result(char*& out, const OperationResult& result) {
  put_text(out, result.resource_type);
  put_text(out, result.resource_id);
  put_text(out, result.failure_code);
}

void put_response(char*& out, const Response& response) {
  put_number(out, response.status);
  put_text(out, response.headers);
  put_text(out, response.body);
}

std::size_t encoded_bytes_max(const Record& record) {
  const RequestInfo& request = *record.request;
  // Three identities and a fingerprint, at most four single bytes, 22 numbers.
  std::size_t most = head_bytes + 32 + 16 + 16 + 32 + 4 + 22 * number_bytes_max + request.tenant.size() +
                     request.operation.size() + request.key_hint.size() + request.owner_tag.size() +
                     request.probe_target.size() + request.reference.size();
  for (const Leaf& leaf : request.leaves) most += number_bytes_max + leaf.pointer.size() + 8;
  most += request.marks.size() * (1 + 32 + number_bytes_max);
  if (record.result) {
    most += 3 * number_bytes_max + record.result->resource_type.size() + record.result->resource_id.size() +
            record.result->failure_code.size();
  }
  if (record.response) {
    most += 3 * number_bytes_max + record.response->headers.size() + record.response->body.size();
  }
  return most;
}

std::uint8_t flags_of(const Record& record) {
  std::uint8_t flags = 0;
  if (record.response) flags |= has_response;
  if (record.response && record.response->body_omitted) flags |= body_omitted;
  if (record.fingerprint.bound()) flags |= is_bound;
  if (record.evidence != Evidence{}) flags |= has_evidence;
  if (!record.request->probe_target.empty()) flags |= has_probe_target;
  if (!record.request->marks.empty()) flags |= has_marks;
  if (!record.request->reference.empty()) flags |= has_reference;
  if (record.result) flags |= has_result;
  return flags;
}

void put_u32(char* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

std::uint32_t get_u32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<std::uint8_t>(at[i]);
  return value;
}

std::uint32_t checksum(std::string_view encoding) {
  return crc32c(encoding.substr(length_at), crc32c(encoding.substr(0, 1)));
}

// Returns its end. The checksum and the length in its head are the caller's.
const char* put_record(char* out, const Record& record) {
  std::memset(out, 0, head_bytes);
  out[0] = static_cast<char>(version_of(record));
  out += head_bytes;
  put_bytes(out, record.scope.data);
  put_bytes(out, record.operation_id.data);
  put_bytes(out, record.owner.data);
  put_number(out, record.epoch);
  put_byte(out, static_cast<std::uint8_t>(record.state));
  const std::uint8_t flags = flags_of(record);
  put_byte(out, flags);
  if (flags & is_bound) {
    put_number(out, record.fingerprint.version);
    put_bytes(out, record.fingerprint.digest.data);
  }
  if (flags & has_evidence) {
    const std::uint8_t earlier_too = record.evidence.earlier_too ? earlier_too_bit : 0;
    put_byte(out, static_cast<std::uint8_t>(record.evidence.cause) | earlier_too);
    put_number(out, record.evidence.status_seen);
    put_number(out, record.evidence.bytes_seen);
  }
  put_time(out, record.created_at, {});
  put_time(out, record.claimed_at, record.created_at);
  put_time(out, record.updated_at, record.created_at);
  put_time(out, record.lease_until, record.created_at);
  put_time(out, record.hold_until, record.created_at);
  put_time(out, record.expires_at, record.created_at);
  put_signed(out, record.ttl.count());
  put_signed(out, record.receipt_ttl.count());
  put_request(out, *record.request);
  if (flags & has_probe_target) put_text(out, record.request->probe_target);
  if (flags & has_marks) put_marks(out, record.request->marks);
  if (flags & has_reference) put_text(out, record.request->reference);
  if (flags & has_result) put_result(out, *record.result);
  if (record.response) put_response(out, *record.response);
  return out;
}

// Takes values off the front. After the first failure everything reads as zero and ok() is false, so
// that the decoder needs one check at its end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return left_.empty(); }
  std::size_t left() const { return left_.size(); }

  std::string_view take(std::uint64_t count) {
    if (count > left_.size()) {
      ok_ = false;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, static_cast<std::size_t>(count));
    left_.remove_prefix(static_cast<std::size_t>(count));
    return taken;
  }
  template <std::size_t N>
  void bytes(std::array<std::uint8_t, N>& to) {
    const std::string_view from = take(N);
    if (from.size() == N) std::memcpy(to.data(), from.data(), N);
  }
  std::uint8_t byte() {
    const std::string_view one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  std::uint64_t u64() {
    std::uint64_t value = 0;
    const std::string_view from = take(sizeof value);
    if (from.size() == sizeof value) std::memcpy(&value, from.data(), sizeof value);
    return std::endian::native == std::endian::big ? std::byteswap(value) : value;
  }
  std::uint64_t number() {
    if (!left_.empty() && (left_.front() & 0x80) == 0) return byte();  // nearly all are short
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const std::uint8_t next = byte();
      if (shift == 63 && next > 1) break;
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (!(next & 0x80)) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  Timestamp time(Timestamp base) {
    const auto count = static_cast<std::uint64_t>(signed_number()) +
                       static_cast<std::uint64_t>(base.time_since_epoch().count());
    return Timestamp(Duration(static_cast<std::int64_t>(count)));
  }
  std::uint16_t number16() {
    const std::uint64_t value = number();
    if (value > 0xffff) ok_ = false;
    return static_cast<std::uint16_t>(value);
  }
  std::string text() { return std::string(take(number())); }
  void fail() { ok_ = false; }

 private:
  std::string_view left_;
  bool ok_ = true;
};

std::vector<Mark> get_marks(Reader& in) {
  std::vector<Mark> marks;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    Mark mark;
    const std::uint8_t first = in.byte();
    const std::uint8_t kind = first & ~refuses_bit;
    if (kind < static_cast<std::uint8_t>(MarkKind::unique) ||
        kind > static_cast<std::uint8_t>(MarkKind::suspect))
      in.fail();
    mark.kind = static_cast<MarkKind>(kind);
    mark.refuses = (first & refuses_bit) != 0;
    in.bytes(mark.scope.data);
    mark.keep = Duration(in.signed_number());
    marks.push_back(mark);
  }
  return marks;
}

std::shared_ptr<const RequestInfo> get_request(Reader& in, std::uint8_t flags) {
  auto request = std::make_shared<RequestInfo>();
  request->tenant = in.text();
  request->operation = in.text();
  request->key_hint = in.text();
  request->owner_tag = in.text();
  const std::uint64_t leaves = in.number();
  if (leaves > in.left() / 9) {  // a leaf takes at least nine bytes: no room is made for invented ones
    in.fail();
    return request;
  }
  request->leaves.reserve(static_cast<std::size_t>(leaves));
  for (std::uint64_t i = 0; i < leaves && in.ok(); ++i) {
    Leaf leaf;
    leaf.pointer = in.text();
    leaf.digest = in.u64();
    request->leaves.push_back(std::move(leaf));
  }
  if (flags & has_probe_target) request->probe_target = in.text();
  if (flags & has_marks) request->marks = get_marks(in);
  if (flags & has_reference) request->reference = in.text();
  return request;
}

std::shared_ptr<const OperationResult> get_result(Reader& in) {
  auto result = std::make_shared<OperationResult>();
  result->resource_type = in.text();
  result->resource_id = in.text();
  result->failure_code = in.text();
  return result;
}

std::shared_ptr<const Response> get_response(Reader& in, std::uint8_t flags) {
  auto response = std::make_shared<Response>();
  response->status = in.number16();
  response->body_omitted = (flags & body_omitted) != 0;
  response->headers = in.text();
  response->body = in.text();
  return response;
}

State get_state(Reader& in) {
  const std::uint8_t value = in.byte();
  if (value < static_cast<std::uint8_t>(State::claimed) ||
      value > static_cast<std::uint8_t>(State::expired)) {
    in.fail();
    return State::claimed;
  }
  return static_cast<State>(value);
}

Evidence get_evidence(Reader& in) {
  Evidence evidence;
  const std::uint8_t first = in.byte();
  const std::uint8_t cause = first & ~earlier_too_bit;
  if (cause > static_cast<std::uint8_t>(UnknownCause::shutdown)) in.fail();
  evidence.cause = static_cast<UnknownCause>(cause);
  evidence.earlier_too = (first & earlier_too_bit) != 0;
  evidence.status_seen = in.number16();
  evidence.bytes_seen = in.number();
  return evidence;
}

Record get_record(Reader& in) {
  Record record;
  in.bytes(record.scope.data);
  in.bytes(record.operation_id.data);
  in.bytes(record.owner.data);
  record.epoch = in.number();
  record.state = get_state(in);
  const std::uint8_t flags = in.byte();
  if (flags & is_bound) {
    record.fingerprint.version = in.number16();
    in.bytes(record.fingerprint.digest.data);
  }
  if (flags & has_evidence) record.evidence = get_evidence(in);
  record.created_at = in.time({});
  record.claimed_at = in.time(record.created_at);
  record.updated_at = in.time(record.created_at);
  record.lease_until = in.time(record.created_at);
  record.hold_until = in.time(record.created_at);
  record.expires_at = in.time(record.created_at);
  record.ttl = Duration(in.signed_number());
  record.receipt_ttl = Duration(in.signed_number());
  record.request = get_request(in, flags);
  if (flags & has_result) record.result = get_result(in);
  if (flags & has_response) record.response = get_response(in, flags);
  return record;
}

Error unreadable(const char* why) { return {Errc::unreadable, std::string("stored record: ") + why}; }

}  // namespace

void encode_record(const Record& record, std::string& out) {
  ONCEWARD_ASSERT(record.request != nullptr);
  const std::size_t start = out.size();
  const std::size_t most = encoded_bytes_max(record);
  out.resize_and_overwrite(start + most, [&](char* bytes, std::size_t) {
    const char* end = put_record(bytes + start, record);
    const auto length = static_cast<std::size_t>(end - bytes) - start;
    ONCEWARD_ASSERT(length <= most);
    ONCEWARD_ASSERT(length <= 0xffffffffu);
    put_u32(bytes + start + length_at, static_cast<std::uint32_t>(length));
    put_u32(bytes + start + crc_at, checksum({bytes + start, length}));
    return start + length;
  });
}

std::size_t encoded_length(std::string_view bytes) {
  return bytes.size() < head_bytes ? 0 : get_u32(bytes.data() + length_at);
}

Result<Record> decode_record(std::string_view bytes) {
  if (bytes.size() < head_bytes) return unreadable("too short");
  const auto version = static_cast<std::uint8_t>(bytes[0]);
  if (version > record_version) return unreadable("written by a newer version, or damaged");
  if (version == 0) return unreadable("no version: damaged");
  if (get_u32(bytes.data() + length_at) != bytes.size())
    return unreadable("its length does not match: damaged");
  if (get_u32(bytes.data() + crc_at) != checksum(bytes))
    return unreadable("its checksum does not match: damaged");
  Reader in(bytes.substr(head_bytes));
  Record record = get_record(in);
  if (!in.ok() || !in.at_end()) return unreadable("its checksum matches and its content does not");
  if (!is_consistent(record)) return unreadable("its content contradicts itself");
  return record;
}

}  // namespace onceward
