#include "net/tls.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "http/relay.hpp"
#include "http/testing.hpp"

namespace onceward::http {
namespace {

using namespace testing;

struct FreeX {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeX>;
using Certificate = std::unique_ptr<X509, FreeX>;
using File = std::unique_ptr<std::FILE, FreeX>;

// A folder with a certificate authority and certificates that it signed.
class Authority {
 public:
  Authority() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tls-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    key_.reset(EVP_EC_gen("P-256"));
    certificate_ = make("Test CA", key_.get(), nullptr);
    write("ca", certificate_.get(), key_.get());
  }
  ~Authority() { std::filesystem::remove_all(folder_); }

  void issue(const std::string& name, const char* subject_alt_name) {
    const Key key(EVP_EC_gen("P-256"));
    write(name, make(name, key.get(), subject_alt_name).get(), key.get());
  }
  std::string cert(const std::string& name) const { return folder_ + "/" + name + ".crt"; }
  std::string key(const std::string& name) const { return folder_ + "/" + name + ".key"; }

 private:
  Certificate make(const std::string& name, EVP_PKEY* key, const char* subject_alt_name) {
    Certificate made(X509_new());
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509* issuer = certificate_ ? certificate_.get() : made.get();
    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
    add(made.get(), NID_basic_constraints, certificate_ ? "CA:FALSE" : "critical,CA:TRUE");
    if (subject_alt_name) add(made.get(), NID_subject_alt_name, subject_alt_name);
    X509_sign(made.get(), key_.get(), EVP_sha256());
    return made;
  }
  static void add(X509* to, int nid, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
  }
  void write(const std::string& name, X509* certificate, EVP_PKEY* key) const {
    PEM_write_X509(File(std::fopen(cert(name).c_str(), "w")).get(), certificate);
    PEM_write_PrivateKey(File(std::fopen(this->key(name).c_str(), "w")).get(), key, nullptr, nullptr, 0,
                         nullptr, nullptr);
  }
  std::string folder_;
  Key key_;
  Certificate certificate_;
  long serial_ = 0;
};

const std::function<PlainAnswer(int, RelayOutcome)> words = [](int status, RelayOutcome) {
  return PlainAnswer{"", "problem " + std::to_string(status)};
};

std::string status_of(const std::string& answer) { return answer.size() < 12 ? answer : answer.substr(9, 3); }

// A TLS server behind a plain one that relays to it: both sides of TLS in one request.
class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    authority.issue("server", "DNS:localhost,IP:127.0.0.1");
    authority.issue("other", "DNS:elsewhere");
    authority.issue("client", nullptr);
  }
  void start(const std::string& certificate, const std::string& client_ca = {}) {
    const net::TlsFiles files{authority.cert(certificate), authority.key(certificate), client_ca};
    back = std::make_unique<RunningServer>(
        [this](Exchange& exchange) -> Task<> {
          seen = exchange.peer();
          std::string body;
          EXPECT_EQ(co_await exchange.read_body(10'000'000, body), ReadBody::ok);
          co_await exchange.respond(200, {}, body);
        },
        ServerLimits{}, &files);
    front = std::make_unique<RunningServer>([this](Exchange& exchange) -> Task<> {
      RelayOptions options;
      options.error_answer = &words;
      co_await relay(exchange, *front->upstream, options);
    });
  }
  std::string port() const { return back->address.substr(back->address.rfind(':') + 1); }
  std::string ask(Raw& client, const std::string& body) {
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    std::thread sender([&] { client.send(body); });
    const std::string answer = client.read_answer();
    sender.join();
    return answer;
  }

  Authority authority;
  PeerInfo seen;
  std::unique_ptr<RunningServer> back;
  std::unique_ptr<RunningServer> front;
};

TEST_F(TlsTest, RequestsPassThroughBothSides) {
  start("server");
  for (const char* host : {"127.0.0.1", "localhost"}) {
    UpstreamOptions options;
    options.url = std::string("https://") + host + ":" + port();
    options.tls.ca_file = authority.cert("ca");
    front->make_upstream(options);
    Raw client = front->connect();
    const Upstream& upstream = *front->upstream;
    for (const std::size_t bytes : {std::size_t{5}, std::size_t{3'000'000}, std::size_t{7}}) {
      const std::string body(bytes, 'x');
      const std::string answer = ask(client, body);
      EXPECT_EQ(status_of(answer), "200");
      EXPECT_TRUE(answer.ends_with("\r\n\r\n" + body)) << bytes;
    }
    front->worker.run([&] { EXPECT_EQ(upstream.idle(), 1U) << "the connection is reused"; });
  }
  EXPECT_TRUE(seen.tls);
  EXPECT_EQ(seen.certificate_subject, "");
}

TEST_F(TlsTest, ACertificateForAnotherNameOrOfAnotherAuthorityIsRefused) {
  start("other");
  UpstreamOptions options;
  options.url = "https://127.0.0.1:" + port();
  options.tls.ca_file = authority.cert("ca");
  front->make_upstream(options);
  Raw wrong_name = front->connect();
  EXPECT_EQ(status_of(ask(wrong_name, "x")), "502");
  options.url = "https://localhost:" + port();
  options.tls.ca_file.clear();  // the system's, which do not know ours
  front->make_upstream(options);
  Raw wrong_authority = front->connect();
  EXPECT_EQ(status_of(ask(wrong_authority, "x")), "502");
}

TEST_F(TlsTest, AClientCertificateIsRequiredVerifiedAndDescribed) {
  start("server", authority.cert("ca"));
  UpstreamOptions options;
  options.url = "https://127.0.0.1:" + port();
  options.tls.ca_file = authority.cert("ca");
  front->make_upstream(options);
  Raw without = front->connect();
  EXPECT_EQ(status_of(ask(without, "x")), "502");
  options.tls.cert = authority.cert("client");
  options.tls.key = authority.key("client");
  front->make_upstream(options);
  Raw with = front->connect();
  EXPECT_EQ(status_of(ask(with, "x")), "200");
  EXPECT_EQ(seen.certificate_subject, "CN=client");
  EXPECT_EQ(seen.certificate_fingerprint.size(), 64U);
}

TEST_F(TlsTest, APlainClientOfATlsServerIsDropped) {
  start("server");
  Raw client = back->connect();
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read_all().find("HTTP/1.1 2"), std::string::npos);
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreErrors) {
  EXPECT_FALSE(net::make_server_tls({authority.cert("server"), authority.key("client"), {}}));
  EXPECT_FALSE(net::make_server_tls({"/nonexistent", authority.key("server"), {}}));
  EXPECT_FALSE(net::make_server_tls({authority.cert("server"), authority.key("server"), "/nonexistent"}));
}

}  // namespace
}  // namespace onceward::http
