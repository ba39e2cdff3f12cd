#include "base/sha256.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>

#include "base/assert.hpp"

namespace onceward {
namespace {

struct Context {
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Context() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
};

thread_local Context tls;

}  // namespace

Sha256Bytes sha256(std::string_view data) {
  Sha256Bytes digest;
  const bool ok = EVP_DigestInit_ex2(tls.context, tls.algorithm, nullptr) == 1 &&
                  EVP_DigestUpdate(tls.context, data.data(), data.size()) == 1 &&
                  EVP_DigestFinal_ex(tls.context, digest.data(), nullptr) == 1;
  ONCEWARD_ASSERT(ok);
  return digest;
}

Sha256Bytes hmac_sha256(std::string_view key, std::string_view data) {
  Sha256Bytes digest;
  unsigned int length = 0;
  const auto* out =
      HMAC(tls.algorithm, key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest.data(), &length);
  ONCEWARD_ASSERT(out != nullptr && length == digest.size());
  return digest;
}

}  // namespace onceward
