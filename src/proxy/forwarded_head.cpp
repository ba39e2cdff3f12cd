#include "proxy/forwarded_head.hpp"

#include <algorithm>
#include <array>

#include "core/operation_id_text.hpp"
#include "core/transaction_token.hpp"
#include "http/request_writer.hpp"
#include "http/response_writer.hpp"
#include "http/scratch.hpp"
#include "proxy/trace.hpp"

namespace onceward {
namespace {

// The last one only when we begin a trace of our own.
constexpr std::array<std::string_view, 4> dropped_names = {"Onceward-Operation-Id", "Onceward-Epoch",
                                                           "Onceward-Token", "traceparent"};

}  // namespace

std::span<const std::string_view> dropped_request_names(bool begins_trace) {
  return std::span(dropped_names).first(begins_trace ? 4 : 3);
}

void ForwardedHead::write(std::string& head, std::size_t body_bytes, const Grant& grant) const {
  const http::RequestHead& request = call_.exchange.request();
  const http::PeerInfo& peer = call_.exchange.peer();
  const bool begins_trace = !has_trace(request.headers);
  http::Scratch extra;
  if (begins_trace) extra->append(begin_trace(random_).view());
  if (grant.epoch != 0) {
    http::append_line(*extra, "Onceward-Operation-Id", OperationIdText(grant.operation_id).view());
    extra->append("Onceward-Epoch: ");
    http::append_number(*extra, grant.epoch);
    extra->append("\r\n");
    if (with_token_)
      http::append_line(*extra, "Onceward-Token",
                        transaction_token(grant.operation_id, grant.epoch, grant.owner));
  }
  http::ForwardOptions options;
  options.peer_address = peer.address;
  options.tls = peer.tls;
  options.protected_names = call_.rules->protected_names();
  options.drop = dropped_request_names(begins_trace);
  std::array<std::string_view, dropped_names.size() + 1> with_key;
  if (!call_.derived_key.empty()) {
    const std::string& key_header = call_.operation->policy->key.header;
    http::append_line(*extra, key_header, call_.derived_key);
    *std::ranges::copy(options.drop, with_key.begin()).out = key_header;
    options.drop = std::span(with_key).first(options.drop.size() + 1);
  }
  options.extra_lines = *extra;
  options.base_path = call_.upstream->base_path();
  http::Body framing = http::Body::length(body_bytes);
  if (request.body.kind == http::Body::Kind::none) framing = http::Body::none();
  if (request.coded) framing = http::Body::chunked();
  http::write_request_head(head, request, framing, options);
}

}  // namespace onceward
