#include "core/json_canonical.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/assert.hpp"
#include "core/json_tape.hpp"

namespace onceward {
namespace {

constexpr std::size_t scratch_bytes_max = std::size_t{4} << 20;

// Every value begins with its tag and containers end with one, so that no canonical text is the
// beginning of another and none can be read in two ways.
enum Tag : char { null = 'n', no = 'f', yes = 't', number = 'd', string = 's', array = 'a', object = 'o' };
constexpr char member_tag = 'm';
constexpr char end_tag = 'e';

// The most that a node takes besides its name and its text: member tag and length of the name (6), tag,
// sign, exponent and length of a number (16).
constexpr std::size_t node_overhead_max = 24;

std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

// Leaves as they are met, in buffers that are used again; strings are made only for what is kept.
class LeafList {
 public:
  void clear() {
    pointers_.clear();
    leaves_.clear();
    overflow_ = false;
  }
  bool overflow() const { return overflow_; }

  void add(std::string_view pointer, std::uint64_t digest) {
    overflow_ = overflow_ || leaves_.size() == leaves_max ||
                pointers_.size() + pointer.size() > leaf_pointer_bytes_max;
    if (overflow_) return;
    leaves_.push_back({pointers_.size(), pointer.size(), digest});
    pointers_ += pointer;
  }

  void copy_to(std::vector<Leaf>& out) {
    out.clear();
    if (overflow_) return;
    const auto by_pointer = [this](const Entry& entry) { return pointer(entry); };
    // Members come sorted, so only indices above 9 and characters below "/" put leaves out of order.
    if (!std::ranges::is_sorted(leaves_, {}, by_pointer)) std::ranges::sort(leaves_, {}, by_pointer);
    out.reserve(leaves_.size());
    for (const Entry& entry : leaves_) out.emplace_back(std::string(pointer(entry)), entry.digest);
  }

 private:
  struct Entry {
    std::size_t offset;
    std::size_t size;
    std::uint64_t digest;
  };
  std::string_view pointer(const Entry& entry) const {
    return std::string_view(pointers_).substr(entry.offset, entry.size);
  }

  std::string pointers_;
  std::vector<Entry> leaves_;
  bool overflow_ = false;
};

// Writes without checking for room: who makes it has made room for the whole tape.
class Emitter {
 public:
  Emitter(const JsonTape& tape, const PointerSet& pointers, const SipKey& leaf_key, char* out,
          LeafList& leaves, std::string& path)
      : tape_(tape), pointers_(pointers), leaf_key_(leaf_key), out_(out), leaves_(leaves), path_(path) {}

  // Returns the end of what was written.
  char* emit() {
    value(tape_.root(), {pointers_.root(), !pointers_.has_include(), 0});
    return out_;
  }

 private:
  // Where a value stands: in the pointer set, inside an included subtree or only on the way to one, and
  // the kinds of containers above it, which tell {"a":[1]} from {"a":{"0":1}} in the leaf's digest.
  struct Place {
    PointerSet::Position position;
    bool included;
    std::uint64_t kinds;
  };

  void value(const JsonNode& node, Place place) {
    if (pointers_.ignored(place.position)) return;
    place.included = place.included || pointers_.included(place.position);
    if (node.is_container())
      container(node, place);
    else if (place.included)
      scalar(node, place);
  }

  void put(char c) { *out_++ = c; }

  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) put(static_cast<char>(value | 0x80));
    put(static_cast<char>(value));
  }

  void put_part(std::string_view part) {
    put_varint(part.size());
    if (!part.empty()) std::memcpy(out_, part.data(), part.size());
    out_ += part.size();
  }

  void scalar(const JsonNode& node, const Place& place) {
    const char* from = out_;
    switch (node.type) {
      case JsonType::null:
        put(Tag::null);
        break;
      case JsonType::boolean_false:
        put(Tag::no);
        break;
      case JsonType::boolean_true:
        put(Tag::yes);
        break;
      case JsonType::string:
        put(Tag::string);
        put_part(node.text);
        break;
      default:
        put(Tag::number);
        put(node.negative ? '-' : '+');
        put_varint(zigzag(node.exponent));
        put_part(node.text);
    }
    leaf(from, place);
  }

  void container(const JsonNode& node, const Place& place) {
    const bool is_object = node.type == JsonType::object;
    char* from = out_;
    put(is_object ? Tag::object : Tag::array);
    const char* inside = out_;
    const std::uint64_t kinds = place.kinds * 3 + (is_object ? 1 : 2);
    if (is_object)
      members(node, {place.position, place.included, kinds});
    else
      elements(node, {place.position, place.included, kinds});
    const bool is_empty = out_ == inside;
    if (is_empty && !place.included) {  // only on the way to something that is not there
      out_ = from;
      return;
    }
    put(end_tag);
    if (is_empty) leaf(from, place);
  }

  void members(const JsonNode& node, const Place& place) {
    const std::size_t path_size = path_.size();
    for (std::uint32_t index : tape_.children(node)) {
      const JsonNode& child = tape_.node(index);
      char* from = out_;
      put(member_tag);
      put_part(child.name);
      const char* inside = out_;
      if (!leaves_.overflow()) append_pointer_token(path_, child.name);
      value(child, {pointers_.member(place.position, child.name), place.included, place.kinds});
      path_.resize(path_size);
      if (out_ == inside) out_ = from;
    }
  }

  void elements(const JsonNode& node, const Place& place) {
    const std::size_t path_size = path_.size();
    std::size_t position = 0;
    for (std::uint32_t index : tape_.children(node)) {
      if (!leaves_.overflow()) append_index(position);
      value(tape_.node(index), {pointers_.element(place.position, position), place.included, place.kinds});
      path_.resize(path_size);
      ++position;
    }
  }

  void append_index(std::size_t index) {
    char digits[20];
    path_ += '/';
    path_.append(digits, std::to_chars(digits, digits + sizeof digits, index).ptr);
  }

  void leaf(const char* from, const Place& place) {
    if (leaves_.overflow()) return;
    const SipKey key{leaf_key_.k0 ^ place.kinds, leaf_key_.k1};
    leaves_.add(path_, siphash24(key, {from, static_cast<std::size_t>(out_ - from)}));
  }

  const JsonTape& tape_;
  const PointerSet& pointers_;
  const SipKey& leaf_key_;
  char* out_;
  LeafList& leaves_;
  std::string& path_;
};

}  // namespace

bool canonicalize_json(std::string_view body, const PointerSet& pointers, const SipKey& leaf_key,
                       std::string& out, std::vector<Leaf>& leaves) {
  thread_local JsonTape tape;
  thread_local LeafList found;
  thread_local std::string path;
  leaves.clear();
  const bool parsed = tape.parse(body);
  if (parsed) {
    found.clear();
    path.clear();
    const std::size_t used = out.size();
    const std::size_t room = used + body.size() + tape.node_count() * node_overhead_max;
    out.resize_and_overwrite(room, [&](char* bytes, std::size_t size) {
      const char* end = Emitter(tape, pointers, leaf_key, bytes + used, found, path).emit();
      ONCEWARD_ASSERT(end <= bytes + size);
      return static_cast<std::size_t>(end - bytes);
    });
    found.copy_to(leaves);
  }
  tape.shrink(scratch_bytes_max);
  return parsed;
}

}  // namespace onceward
