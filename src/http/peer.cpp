#include "http/peer.hpp"

#include <openssl/x509v3.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/hex.hpp"

namespace onceward::http {

void describe_peer(const SSL& session, PeerInfo& peer) {
  peer.tls = true;
  X509* certificate = SSL_get0_peer_certificate(&session);
  if (!certificate || SSL_get_verify_result(&session) != X509_V_OK) return;
  const std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })> text(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(text.get(), &data);
  peer.certificate_subject.assign(data, static_cast<std::size_t>(bytes));
  std::array<std::uint8_t, 32> digest{};
  unsigned digest_bytes = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &digest_bytes) == 1)
    peer.certificate_fingerprint = to_hex(std::span(digest));
}

}  // namespace onceward::http
