#include "api/claim_token.hpp"

#include <algorithm>

#include "base/base64.hpp"

namespace onceward {
namespace {

constexpr char version = 1;
constexpr std::size_t token_bytes = 1 + 32 + 16 + 8 + 16;

template <class B>
void append(std::string& out, const B& bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data.data()), bytes.data.size());
}

template <class B>
void take(std::string_view& text, B& bytes) {
  std::copy_n(text.begin(), bytes.data.size(), bytes.data.begin());
  text.remove_prefix(bytes.data.size());
}

}  // namespace

std::string claim_token(const Fence& fence) {
  std::string bytes(1, version);
  append(bytes, fence.scope);
  append(bytes, fence.operation_id);
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(fence.epoch >> shift & 255);
  append(bytes, fence.owner);
  return to_base64url(bytes);
}

std::optional<Fence> fence_from_token(std::string_view token, const OperationId& operation_id) {
  const std::optional<std::string> bytes = from_base64url(token);
  if (!bytes || bytes->size() != token_bytes || bytes->front() != version) return std::nullopt;
  std::string_view left = std::string_view(*bytes).substr(1);
  Fence fence;
  take(left, fence.scope);
  take(left, fence.operation_id);
  for (int i = 0; i < 8; ++i)
    fence.epoch = fence.epoch << 8 | static_cast<unsigned char>(left[static_cast<std::size_t>(i)]);
  left.remove_prefix(8);
  take(left, fence.owner);
  // Nobody owns what an operator has resolved, so nobody may come as nobody.
  if (fence.operation_id != operation_id || fence.owner.is_zero()) return std::nullopt;
  return fence;
}

}  // namespace onceward
