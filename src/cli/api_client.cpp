#include "cli/api_client.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <future>

#include "base/task.hpp"
#include "cli/api_tokens.hpp"
#include "config/config.hpp"

namespace onceward::cli {

using namespace config;
namespace {

constexpr std::size_t answer_bytes_max = std::size_t{64} << 20;
constexpr Duration patience = std::chrono::seconds(60);

Error invalid(std::string why) { return {Errc::invalid, std::move(why)}; }

std::string url_of(const ApiConfig& api) {
  std::string host = api.listen->host;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return (api.tls ? "https://" : "http://") + host + ":" + std::to_string(api.listen->port);
}

Result<std::string> find_token(const ApiOptions& options, const Config& config) {
  if (!options.token_file.empty()) return token_from_file(options.token_file);
  const char* variable = std::getenv("ONCEWARD_TOKEN");
  if (variable && *variable) return std::string(variable);
  if (!config.api.token_file.empty()) return token_from_file(config.api.token_file);
  if (config.store.kind == StoreKind::file) return token_from_file(config.store.folder() + "/admin.token");
  return invalid("no token: give --token-file FILE or ONCEWARD_TOKEN");
}

Task<Result<ApiAnswer>> exchange(http::Upstream& api, std::string method, std::string head,
                                 std::string body) {
  const MonoTime deadline = net::Worker::now() + patience;
  const auto lost = [](const char* why) { return Error{Errc::unavailable, std::string("the API ") + why}; };
  Result<http::Lease> lease = co_await api.checkout(deadline);
  if (!lease) co_return lease.error();
  if (co_await lease->send(head, body, deadline) != http::Sent::ok) co_return lost("closed the connection");
  do {
    if (co_await lease->read_head(method, deadline) != http::HeadStatus::head)
      co_return lost("did not answer");
  } while (lease->head().status < 200);
  ApiAnswer answer{lease->head().status, nullptr};
  std::string text;
  if (co_await lease->read_body(answer_bytes_max, text, deadline) != http::BodyStatus::end)
    co_return lost("did not answer whole");
  lease->release();
  boost::system::error_code error;
  answer.body = boost::json::parse(text, error);
  if (error) answer.body = nullptr;
  co_return answer;
}

}  // namespace

Result<ApiAddress> find_api(const ApiOptions& options) {
  // Without a file these are the defaults, where `serve` without a file is found.
  const std::expected<Config, ConfigErrors> config = load_config_file(options.config_file, {});
  if (!config) return invalid(config.error().messages.front());
  ApiAddress address;
  address.ca_file = options.ca_file;
  if (!options.api.empty()) {
    address.url = options.api;
  } else if (config->api.listen && config->api.listen->port != 0) {
    address.url = url_of(config->api);
    if (config->api.tls && address.ca_file.empty()) address.ca_file = config->api.tls->cert;
  } else {
    return invalid("the configuration has no fixed address of the API: give --api URL");
  }
  Result<std::string> token = find_token(options, *config);
  if (!token) return token.error();
  address.token = std::move(*token);
  return address;
}

Result<std::unique_ptr<ApiClient>> ApiClient::make(const ApiAddress& address) {
  std::unique_ptr<ApiClient> client(new ApiClient(address.token));
  http::UpstreamOptions options;
  options.url = address.url;
  options.tls.ca_file = address.ca_file;
  Result<std::unique_ptr<http::Upstream>> api = http::Upstream::make(client->worker_, options);
  if (!api) return invalid(api.error().message);
  client->api_ = std::move(*api);
  client->thread_ = std::thread([worker = &client->worker_] { worker->run(); });
  return client;
}

ApiClient::~ApiClient() {
  if (!thread_.joinable()) return;
  std::promise<void> closed;
  worker_.call([&] {
    api_.reset();
    closed.set_value();
  });
  closed.get_future().wait();
  worker_.stop();
  thread_.join();
}

Result<ApiAnswer> ApiClient::post(const std::string& target, const boost::json::value& body) {
  return call("POST", target, boost::json::serialize(body));
}

Result<ApiAnswer> ApiClient::call(const std::string& method, const std::string& target,
                                  const std::string& body) {
  std::string head = method + " " + std::string(api_->base_path()) + target +
                     " HTTP/1.1\r\nHost: " + std::string(api_->authority()) + "\r\nAuthorization: Bearer " +
                     token_ + "\r\n";
  if (!body.empty()) {
    head += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  head += "\r\n";
  std::promise<Result<ApiAnswer>> done;
  worker_.call([&] {
    spawn([](http::Upstream& api, std::string m, std::string h, std::string b,
             std::promise<Result<ApiAnswer>>& told) -> Task<> {
      told.set_value(co_await exchange(api, std::move(m), std::move(h), std::move(b)));
    }(*api_, method, head, body, done));
  });
  return done.get_future().get();
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (plain.find(c) != plain.npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace onceward::cli
