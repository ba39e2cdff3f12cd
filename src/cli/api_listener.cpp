#include "cli/api_listener.hpp"

#include "cli/api_tokens.hpp"
#include "cli/make_api_rules.hpp"

namespace onceward::cli {
namespace {

constexpr Duration last_answers{100};  // for who is just being answered when it ends

}  // namespace

http::ServerLimits server_limits(const Config& config) {
  http::ServerLimits limits;
  limits.header_bytes = config.limits.header_bytes;
  limits.header_timeout = config.limits.header_timeout;
  limits.idle_timeout = config.limits.idle_timeout;
  return limits;
}

Result<Done> use_certificates(http::Server& server, const TlsConfig& tls) {
  const Result<Done> used = server.use_tls({tls.cert, tls.key, tls.client_ca});
  return used ? used : Error{Errc::invalid, used.error().message};
}

ApiListener::ApiListener(const Config& config, const Context& context) : config_(config), context_(context) {}

Result<Tokens> ApiListener::load_tokens(const Config& config) {
  if (!config.api.token_file.empty()) {
    if (is_readable_by_others(config.api.token_file))
      context_.log.warning("others can read the token file", {{"file", config.api.token_file}});
    return tokens_from_file(config.api.token_file);
  }
  if (admin_token_.empty() && config_.store.kind == StoreKind::file) {
    Result<std::string> kept = kept_admin_token(config_.store.folder(), context_.random);
    if (!kept) return kept.error();
    admin_token_ = std::move(*kept);
  } else if (admin_token_.empty()) {
    admin_token_ = new_admin_token(context_.random);
    context_.log.info("the API's admin token, until this process ends", {{"token", admin_token_}});
  }
  return only_admin(admin_token_);
}

Result<std::shared_ptr<const ApiRules>> ApiListener::load_rules(const Config& config) {
  Result<Tokens> tokens = load_tokens(config);
  if (!tokens) return tokens.error();
  return make_api_rules(config, context_.metrics, std::move(*tokens));
}

Result<Done> ApiListener::start(net::Worker& worker, std::function<Readiness()> readiness) {
  if (!config_.api.listen && config_.api.socket.empty()) return Done{};
  Result<std::shared_ptr<const ApiRules>> rules = load_rules(config_);
  if (!rules) return rules.error();
  Metrics& metrics = context_.metrics;
  admin_ = std::make_unique<AdminApi>(context_.store, context_.clock, metrics, std::move(readiness));
  api_ = std::make_unique<Api>(
      ApiContext{context_.store, context_.clock, context_.random, metrics.shard(0), *admin_, context_.events},
      std::move(*rules));
  server_ = std::make_unique<http::Server>(worker, *api_, server_limits(config_));
  if (config_.api.tls) {
    if (Result<Done> used = use_certificates(*server_, *config_.api.tls); !used) return used;
  }
  std::vector<std::string> wanted;
  if (config_.api.listen) wanted.push_back(config_.api.listen->text());
  if (!config_.api.socket.empty()) wanted.push_back("unix:" + config_.api.socket);
  Result<std::vector<std::string>> bound = server_->listen(wanted);
  if (!bound) return bound.error();
  address_ = bound->front();
  return Done{};
}

Task<> ApiListener::close() {
  if (!server_ || co_await server_->drain(net::Worker::now() + last_answers)) co_return;
  server_->close_all();
  (void)co_await server_->drain(MonoTime::max());
}

}  // namespace onceward::cli
