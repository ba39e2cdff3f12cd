#include "net/tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <csignal>

namespace onceward::net {
namespace {

Error tls_failure(const std::string& what) { return {Errc::invalid, what + ": " + tls_error_text()}; }

// OpenSSL writes with write(2), which would raise SIGPIPE when the peer is gone.
void ignore_sigpipe() { std::signal(SIGPIPE, SIG_IGN); }

TlsContext make_context(const SSL_METHOD* method) {
  ignore_sigpipe();
  TlsContext context(SSL_CTX_new(method));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  return context;
}

Result<Done> use_certificate(SSL_CTX& context, const std::string& cert, const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(&context, cert.c_str()) != 1) return tls_failure(cert);
  if (SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM) != 1) return tls_failure(key);
  if (SSL_CTX_check_private_key(&context) != 1) return tls_failure(cert + " and " + key);
  return Done{};
}

// ALPN: only HTTP/1.1 is spoken; a client that insists on something else is refused by the handshake.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_bytes, const unsigned char* in,
                    unsigned in_bytes, void*) {
  static constexpr unsigned char ours[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_bytes, ours, sizeof ours - 1, in, in_bytes) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

}  // namespace

std::string tls_error_text() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown TLS error";
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

Result<TlsContext> make_server_tls(const TlsFiles& files) {
  TlsContext context = make_context(TLS_server_method());
  if (const auto used = use_certificate(*context, files.cert, files.key); !used) return used.error();
  static constexpr unsigned char session_id[] = "onceward";
  SSL_CTX_set_session_id_context(context.get(), session_id, sizeof session_id - 1);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  if (!files.client_ca.empty()) {
    if (SSL_CTX_load_verify_locations(context.get(), files.client_ca.c_str(), nullptr) != 1)
      return tls_failure(files.client_ca);
    SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(files.client_ca.c_str()));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

Result<TlsContext> make_client_tls(const ClientTls& options) {
  TlsContext context = make_context(TLS_client_method());
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_locations(context.get(), options.ca_file.c_str(), nullptr) != 1) {
    return tls_failure(options.ca_file);
  }
  if (!options.cert.empty())
    if (const auto used = use_certificate(*context, options.cert, options.key); !used) return used.error();
  SSL_CTX_set_verify(context.get(), options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return context;
}

TlsSession accept_tls(SSL_CTX& context, int fd) {
  TlsSession session(SSL_new(&context));
  SSL_set_fd(session.get(), fd);
  SSL_set_accept_state(session.get());
  return session;
}

TlsSession connect_tls(SSL_CTX& context, int fd, const std::string& host, bool verify) {
  TlsSession session(SSL_new(&context));
  SSL_set_fd(session.get(), fd);
  SSL_set_connect_state(session.get());
  if (is_address(host)) {
    if (verify) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str());
  } else {
    SSL_set_tlsext_host_name(session.get(), host.c_str());
    if (verify) SSL_set1_host(session.get(), host.c_str());
  }
  return session;
}

}  // namespace onceward::net
