#include "stores/redis/store_impl.hpp"

#include <algorithm>

#include "base/hex.hpp"

namespace onceward::redis {
namespace {

// A prefix is plain text, and SCAN's patterns are not.
std::string pattern_for(std::string_view prefix, std::string_view rest) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\^").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern.append(rest);
}

std::string replicas_text(unsigned count) {
  if (count == 0) return {};
  return ", " + std::to_string(count) + (count == 1 ? " replica" : " replicas") + " waited for";
}

}  // namespace

Arguments& Arguments::add(Duration duration) { return add(std::to_string(within_bounds(duration).count())); }

Arguments& Arguments::add(const std::shared_ptr<const Response>& response) {
  if (!response) return add("no").add("").add("").add("").add("");
  return add("yes")
      .add(std::uint64_t{response->status})
      .add(response->body_omitted)
      .add(std::string_view(response->headers))
      .add(std::string_view(response->body));
}

Arguments& Arguments::add(const Fence& fence) {
  return add(to_string(fence.operation_id)).add(std::uint64_t{fence.epoch}).add(to_hex(fence.owner.data));
}

Arguments& Arguments::add(const std::shared_ptr<const OperationResult>& result) {
  if (!result) return add("no").add("").add("").add("");
  return add("yes")
      .add(std::string_view(result->resource_type))
      .add(std::string_view(result->resource_id))
      .add(std::string_view(result->failure_code));
}

Arguments& Arguments::add(const std::shared_ptr<const Events>& events) {
  if (!events) return add(std::uint64_t{0});
  add(std::uint64_t{events->size()});
  for (const Event& event : *events) {
    add(std::string_view(event.id)).add(std::string_view(event.type));
    add(std::string_view(event.content_type)).add(std::string_view(event.payload));
  }
  return *this;
}

Arguments& Arguments::add(const std::vector<Mark>& marks) {
  for (const MarkKind kind : {MarkKind::unique, MarkKind::suspect}) {
    const auto mark = std::ranges::find(marks, kind, &Mark::kind);
    if (mark == marks.end()) {
      add("").add("").add("");
    } else {
      add(to_hex(mark->scope.data)).add(mark->keep).add(mark->refuses);
    }
  }
  return *this;
}

StoreImpl::StoreImpl(RedisUrl url, net::TlsContext tls, const Clock* clock)
    : url_(std::move(url)),
      tls_(std::move(tls)),
      clock_(clock),
      pattern_(pattern_for(url_.prefix, "{*}")),
      mark_pattern_(pattern_for(url_.prefix, "mark:*")),
      router_(io_.worker(), io_.tasks(), url_, tls_.get(), Purpose::records, [this] { note_health(); }),
      subscriber_(io_.worker(), io_.tasks(), url_, tls_.get(), router_) {}

StoreImpl::~StoreImpl() {
  io_.stop([this] {
    subscriber_.stop();
    router_.stop();
  });
}

Result<Done> StoreImpl::start(Duration wait) {
  io_.start([this] {
    router_.start();
    subscriber_.start();
  });
  std::unique_lock lock(health_mutex_);
  health_told_.wait_for(lock, wait, [this] { return tried_; });
  if (trouble_ && trouble_->code == Errc::invalid) return *trouble_;
  return Done{};
}

void StoreImpl::note_health() {
  RedisHealth health;
  std::optional<Error> trouble = router_.trouble();
  health.ready = !trouble;
  for (const Connection* primary : router_.primaries()) {
    // Of several servers, the weakest is what counts.
    if (!primary->is_ready()) continue;
    if (health.durability.empty() || !primary->facts().appendonly.value_or(false))
      health.durability = durability_text(primary->facts());
    if (health.message.empty()) health.message = warning_text(primary->facts());
  }
  if (health.durability.empty()) health.durability = "not known";
  health.durability += replicas_text(url_.wait_replicas);
  if (trouble) health.message = trouble->message;
  const std::lock_guard lock(health_mutex_);
  health_ = std::move(health);
  trouble_ = std::move(trouble);
  tried_ = router_.tried();
  if (tried_) health_told_.notify_all();
}

RedisHealth StoreImpl::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

bool StoreImpl::claim(const ClaimRequest& request, Reply<ClaimReply>& reply) {
  return begin(reply, [this, &request] { return do_claim(request); });
}

bool StoreImpl::dispatch(const Fence& fence, Reply<Record>& reply) {
  return begin(reply, [this, &fence] { return do_fenced(scripts().dispatch, fence, {}); });
}

bool StoreImpl::renew(const RenewRequest& request, Reply<Record>& reply) {
  return begin(reply, [this, &request] {
    return do_fenced(scripts().renew, request.fence, std::move(Arguments().add(request.lease)));
  });
}

bool StoreImpl::complete(const CompleteRequest& request, Reply<Record>& reply) {
  return begin(reply, [this, &request] { return do_complete(request); });
}

bool StoreImpl::release(const ReleaseRequest& request, Reply<Record>& reply) {
  return begin(reply, [this, &request] { return do_release(request); });
}

bool StoreImpl::unknown(const UnknownRequest& request, Reply<Record>& reply) {
  return begin(reply, [this, &request] {
    const Evidence& seen = request.evidence;
    Arguments arguments;
    arguments.add(to_string(seen.cause)).add(std::uint64_t{seen.status_seen}).add(seen.bytes_seen);
    return do_fenced(scripts().unknown, request.fence, std::move(arguments));
  });
}

bool StoreImpl::resolve(const ResolveRequest& request, Reply<Record>& reply) {
  return begin(reply, [this, &request] { return do_resolve(request); });
}

bool StoreImpl::lookup(const Scope& scope, Reply<Record>& reply) {
  return begin(reply,
               [this, &scope] { return do_lookup(key_of(url_.prefix, scope), to_hex(scope.data), ""); });
}

bool StoreImpl::lookup(const OperationId& id, Reply<Record>& reply) {
  return begin(reply, [this, &id] { return do_lookup(key_of(url_.prefix, id), "", to_string(id)); });
}

bool StoreImpl::list(const ListRequest& request, Reply<ListReply>& reply) {
  return begin(reply, [this, &request] { return do_list(request); });
}

bool StoreImpl::purge(const PurgeRequest& request, Reply<PurgeReply>& reply) {
  return begin(reply, [this, &request] { return do_purge(request); });
}

bool StoreImpl::stats(Reply<StoreStats>& reply) {
  return begin(reply, [this] { return do_stats(); });
}

void StoreImpl::watch(const Scope& scope, std::function<void()> changed) {
  subscriber_.watch(key_of(url_.prefix, scope), std::move(changed));
}

void StoreImpl::unwatch(const Scope& scope) { subscriber_.unwatch(key_of(url_.prefix, scope)); }

Result<Done> check_redis_url(std::string_view url) {
  if (const Result<RedisUrl> parsed = parse_redis_url(url); !parsed) return parsed.error();
  return Done{};
}

Result<std::unique_ptr<RedisStore>> open_redis(const RedisOptions& options) {
  Result<RedisUrl> url = parse_redis_url(options.url);
  if (!url) return url.error();
  Result<net::TlsContext> tls = make_tls(*url);
  if (!tls) return tls.error();
  auto store = std::make_unique<StoreImpl>(std::move(*url), std::move(*tls), options.clock);
  if (const Result<Done> started = store->start(options.first_wait); !started) return started.error();
  return Result<std::unique_ptr<RedisStore>>(std::move(store));
}

}  // namespace onceward::redis
