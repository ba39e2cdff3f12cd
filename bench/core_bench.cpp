// What every guarded request pays before its claim: reading the key, hashing the scope and the request.
#include <benchmark/benchmark.h>

#include <string>

#include "core/fingerprint.hpp"
#include "core/key.hpp"
#include "core/scope.hpp"

namespace onceward {
namespace {

void parse_quoted_key(benchmark::State& state) {
  const KeyPolicy policy;
  for (auto _ : state)
    benchmark::DoNotOptimize(parse_key("\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", policy));
}
BENCHMARK(parse_quoted_key);

void parse_bare_key(benchmark::State& state) {
  const KeyPolicy policy;
  for (auto _ : state) benchmark::DoNotOptimize(parse_key("8e03978e-40d5-43dd-bc93-6894a57f9324", policy));
}
BENCHMARK(parse_bare_key);

void hash_scope(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(
        scope_of("acme", "6894a57f9324", "payments.create", "8e03978e-40d5-43dd-bc93", ""));
}
BENCHMARK(hash_scope);

const std::string payment =
    R"({"order_id": "ord_8f3b2c", "customer": {"id": "cus_41", "email": "a.user@example.com"}, "amount": 1250.00, )"
    R"("currency": "EUR", "capture": true, "lines": [{"sku": "A-1", "quantity": 2}], "note": null})";

std::string many_payments(std::size_t bytes) {
  std::string body = "[";
  while (body.size() + payment.size() + 2 < bytes) body += payment + ",";
  return body + "0]";
}

void fingerprint_body(benchmark::State& state, const std::string& body, FingerprintMode mode) {
  FingerprintPolicy policy;
  policy.mode = mode;
  const auto compiled = *CompiledFingerprintPolicy::compile(policy);
  const FingerprintInput input{"POST", "payments.create", "/payments", "", "application/json", body, {}};
  const Scope scope = scope_of("acme", "me", "payments.create", "k1", "");
  for (auto _ : state) benchmark::DoNotOptimize(fingerprint(fingerprint_version, input, compiled, scope));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK_CAPTURE(fingerprint_body, canonical_200_bytes, payment, FingerprintMode::canonical);
BENCHMARK_CAPTURE(fingerprint_body, raw_200_bytes, payment, FingerprintMode::raw);
BENCHMARK_CAPTURE(fingerprint_body, canonical_64_KiB, many_payments(65536), FingerprintMode::canonical);
BENCHMARK_CAPTURE(fingerprint_body, raw_64_KiB, many_payments(65536), FingerprintMode::raw);

}  // namespace
}  // namespace onceward
