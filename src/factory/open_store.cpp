#include "factory/open_store.hpp"

#include <cstdlib>

#include "stores/embedded/embedded_store.hpp"
#include "stores/failpoint/failpoint_store.hpp"
#include "stores/memory/memory_store.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/redis/redis_cache.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/tiered/tiered_store.hpp"

namespace onceward {
namespace {

using config::Config;
using config::Durability;
using config::StoreKind;

OpenedStore open_memory(const Clock& clock) {
  return {make_memory_store(clock), [] { return Readiness{.store = "memory", .durability = "none"}; }};
}

Result<OpenedStore> open_file(const Config& config, const Clock& clock) {
  embedded::EmbeddedOptions options;
  options.dir = config.store.folder();
  options.clock = &clock;
  const bool synced = config.durability == Durability::disk;
  options.durability = synced ? embedded::Durability::disk : embedded::Durability::process;
  Result<std::unique_ptr<embedded::EmbeddedStore>> opened = embedded::open_embedded(options);
  if (!opened) return opened.error();
  embedded::EmbeddedStore* store = opened->get();
  const auto readiness = [store, synced] {
    const embedded::Health health = store->health();
    return Readiness{.ready = health.ok && health.takes_claims,
                     .store = "file",
                     .durability = synced ? "disk" : "process",
                     .message = health.message};
  };
  return OpenedStore{std::move(*opened), readiness};
}

Result<OpenedStore> open_redis_store(const Config& config) {
  Result<std::unique_ptr<redis::RedisStore>> opened = redis::open_redis({.url = config.store.text});
  if (!opened) return opened.error();
  const auto readiness = [store = opened->get()] {
    const redis::RedisHealth health = store->health();
    return Readiness{
        .ready = health.ready, .store = "redis", .durability = health.durability, .message = health.message};
  };
  return OpenedStore{std::move(*opened), readiness};
}

Result<OpenedStore> open_postgres_store(const Config& config) {
  Result<std::unique_ptr<postgres::PostgresStore>> opened =
      postgres::open_postgres({.url = config.store.text});
  if (!opened) return opened.error();
  const auto readiness = [store = opened->get()] {
    const postgres::Health health = store->health();
    return Readiness{.ready = health.ready,
                     .store = "postgres",
                     .durability = health.durability,
                     .message = health.message};
  };
  return OpenedStore{std::move(*opened), readiness};
}

Result<OpenedStore> put_cache_in_front(OpenedStore authority, const Config& config, const Clock& clock) {
  Result<std::unique_ptr<OutcomeCache>> cache = redis::open_redis_cache(config.cache->text);
  if (!cache) return cache.error();
  const auto readiness = [told = authority.readiness, cache = cache->get()] {
    Readiness state = told();
    if (state.message.empty() && !cache->is_reachable())
      state.message = "the cache cannot be reached: every replay asks the store";
    return state;
  };
  return OpenedStore{make_tiered_store(std::move(authority.store), std::move(*cache), clock), readiness};
}

Result<OpenedStore> open_configured(const Config& config, const Clock& clock) {
  switch (config.store.kind) {
    case StoreKind::memory:
      return open_memory(clock);
    case StoreKind::file:
      return open_file(config, clock);
    case StoreKind::redis:
      return open_redis_store(config);
    case StoreKind::postgres:
      return open_postgres_store(config);
  }
  return Error{Errc::invalid, "this build has no store for " + config.store.text};
}

}  // namespace

Result<Done> check_store(const Config& config) {
  if (config.cache) {
    if (const Result<Done> cache = redis::check_redis_url(config.cache->text); !cache) return cache;
  }
  if (config.store.kind == StoreKind::postgres) return postgres::check_postgres_url(config.store.text);
  if (config.store.kind == StoreKind::redis) return redis::check_redis_url(config.store.text);
  return Done{};
}

Result<OpenedStore> open_store(const Config& config, const Clock& clock) {
  const char* failpoints = std::getenv("ONCEWARD_FAILPOINT");
  if (const Result<Done> armed = arm_failpoints(failpoints ? failpoints : ""); !armed) return armed.error();
  Result<OpenedStore> opened = open_configured(config, clock);
  if (opened && config.cache) opened = put_cache_in_front(std::move(*opened), config, clock);
  if (opened && failpoints_armed()) opened->store = make_failpoint_store(std::move(opened->store));
  return opened;
}

}  // namespace onceward
