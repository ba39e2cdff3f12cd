#include "core/transaction_token.hpp"

#include <span>

#include "base/hex.hpp"
#include "base/sha256.hpp"

namespace onceward {
namespace {

constexpr std::string_view purpose = "onceward.token";
constexpr std::size_t proof_bytes = 16;

}  // namespace

std::string transaction_token(const OperationId& operation_id, Epoch epoch, const OwnerNonce& owner) {
  std::string proven(purpose);
  proven.append(reinterpret_cast<const char*>(owner.data.data()), owner.data.size());
  const Sha256Bytes digest = sha256(proven);
  std::string token = to_string(operation_id);
  token.append(".").append(std::to_string(epoch)).append(".");
  return token.append(to_hex(std::span(digest).first(proof_bytes)));
}

}  // namespace onceward
