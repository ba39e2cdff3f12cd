#include "core/json_canonical.hpp"

#include <algorithm>
#include <charconv>

#include "core/encode.hpp"
#include "core/json_tape.hpp"

namespace onceward {
namespace {

constexpr std::size_t scratch_bytes_max = std::size_t{4} << 20;

// Every value begins with its tag and containers end with one, so that no canonical text is the
// beginning of another and none can be read in two ways.
enum Tag : char { null = 'n', no = 'f', yes = 't', number = 'd', string = 's', array = 'a', object = 'o' };
constexpr char member_tag = 'm';
constexpr char end_tag = 'e';

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
    std::ranges::sort(leaves_, {}, [this](const Entry& entry) { return pointer(entry); });
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

class Emitter {
 public:
  Emitter(const JsonTape& tape, const PointerSet& pointers, const SipKey& leaf_key, std::string& out,
          LeafList& leaves, std::string& path)
      : tape_(tape), pointers_(pointers), leaf_key_(leaf_key), out_(out), leaves_(leaves), path_(path) {}

  void emit() { value(tape_.root(), {pointers_.root(), !pointers_.has_include(), 0}); }

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

  void scalar(const JsonNode& node, const Place& place) {
    const std::size_t from = out_.size();
    switch (node.type) {
      case JsonType::null:
        out_ += Tag::null;
        break;
      case JsonType::boolean_false:
        out_ += Tag::no;
        break;
      case JsonType::boolean_true:
        out_ += Tag::yes;
        break;
      case JsonType::string:
        out_ += Tag::string;
        append_part(out_, node.text);
        break;
      default:
        out_ += Tag::number;
        out_ += node.negative ? '-' : '+';
        append_varint(out_, zigzag(node.exponent));
        append_part(out_, node.text);
    }
    leaf(from, place);
  }

  void container(const JsonNode& node, const Place& place) {
    const bool is_object = node.type == JsonType::object;
    const std::size_t from = out_.size();
    out_ += is_object ? Tag::object : Tag::array;
    const std::size_t inside = out_.size();
    const std::uint64_t kinds = place.kinds * 3 + (is_object ? 1 : 2);
    if (is_object)
      members(node, {place.position, place.included, kinds});
    else
      elements(node, {place.position, place.included, kinds});
    const bool is_empty = out_.size() == inside;
    if (is_empty && !place.included) {  // only on the way to something that is not there
      out_.resize(from);
      return;
    }
    out_ += end_tag;
    if (is_empty) leaf(from, place);
  }

  void members(const JsonNode& node, const Place& place) {
    const std::size_t path_size = path_.size();
    for (std::uint32_t index : tape_.children(node)) {
      const JsonNode& child = tape_.node(index);
      const std::size_t from = out_.size();
      out_ += member_tag;
      append_part(out_, child.name);
      const std::size_t inside = out_.size();
      if (!leaves_.overflow()) append_pointer_token(path_, child.name);
      value(child, {pointers_.member(place.position, child.name), place.included, place.kinds});
      path_.resize(path_size);
      if (out_.size() == inside) out_.resize(from);
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

  void leaf(std::size_t from, const Place& place) {
    if (leaves_.overflow()) return;
    const SipKey key{leaf_key_.k0 ^ place.kinds, leaf_key_.k1};
    leaves_.add(path_, siphash24(key, std::string_view(out_).substr(from)));
  }

  const JsonTape& tape_;
  const PointerSet& pointers_;
  const SipKey& leaf_key_;
  std::string& out_;
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
    Emitter(tape, pointers, leaf_key, out, found, path).emit();
    found.copy_to(leaves);
  }
  tape.shrink(scratch_bytes_max);
  return parsed;
}

}  // namespace onceward
