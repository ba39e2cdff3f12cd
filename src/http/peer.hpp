// Who is at the other end of a connection: its address and, over TLS, its certificate. Pure data, filled
// once per connection.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace onceward::http {

struct PeerInfo {
  std::string address;  // without the port
  bool tls = false;
  bool is_local = false;                // came through a socket in the file system
  std::string certificate_subject;      // RFC 2253 text; empty without a verified client certificate
  std::string certificate_fingerprint;  // SHA-256 of the certificate, lower-case hex
};

// Fills in subject and fingerprint when the client showed a verified certificate.
void describe_peer(const SSL& session, PeerInfo& peer);

}  // namespace onceward::http
