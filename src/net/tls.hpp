// TLS with OpenSSL, spoken straight over a non-blocking socket: contexts made at start-up or reload, and
// one session per connection. Sessions belong to their stream's thread; contexts may be shared.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "onceward/result.hpp"

namespace onceward::net {

struct TlsFiles {
  std::string cert;       // PEM chain
  std::string key;        // PEM
  std::string client_ca;  // PEM; when set, a client certificate is required and verified
};

struct ClientTls {
  std::string ca_file;  // PEM; empty: the system's
  std::string cert;     // client certificate (PEM), empty: none
  std::string key;
  bool verify = true;  // of the server's certificate
};

struct FreeSsl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeSsl>;
using TlsSession = std::unique_ptr<SSL, FreeSsl>;

Result<TlsContext> make_server_tls(const TlsFiles& files);
Result<TlsContext> make_client_tls(const ClientTls& options);

TlsSession accept_tls(SSL_CTX& context, int fd);
// Verifies that the certificate is for `host` (a name or an address) when `verify`.
TlsSession connect_tls(SSL_CTX& context, int fd, const std::string& host, bool verify);

std::string tls_error_text();  // the oldest error of this thread's queue; empties it

}  // namespace onceward::net
