#include "base/sha256.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/assert.hpp"

namespace onceward {
namespace {

struct Algorithm {
  EVP_MD* sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  ~Algorithm() { EVP_MD_free(sha256); }
};

thread_local Algorithm algorithm;

}  // namespace

// Not by way of EVP, whose set-up costs more than hashing a key does. OpenSSL calls these functions old,
// but they are the same code underneath.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
Sha256Bytes sha256(std::string_view data) {
  Sha256Bytes digest;
  SHA256_CTX context;
  const bool ok = SHA256_Init(&context) == 1 && SHA256_Update(&context, data.data(), data.size()) == 1 &&
                  SHA256_Final(digest.data(), &context) == 1;
  ONCEWARD_ASSERT(ok);
  return digest;
}
#pragma clang diagnostic pop

Sha256Bytes hmac_sha256(std::string_view key, std::string_view data) {
  Sha256Bytes digest;
  unsigned int length = 0;
  const auto* out =
      HMAC(algorithm.sha256, key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest.data(), &length);
  ONCEWARD_ASSERT(out != nullptr && length == digest.size());
  return digest;
}

}  // namespace onceward
