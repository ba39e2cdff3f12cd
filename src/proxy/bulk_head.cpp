#include "proxy/bulk_head.hpp"

#include <algorithm>
#include <array>

#include "core/transaction_token.hpp"
#include "http/hop_by_hop.hpp"
#include "http/request_writer.hpp"
#include "http/response_writer.hpp"
#include "http/scratch.hpp"
#include "proxy/forwarded_head.hpp"
#include "proxy/trace.hpp"

namespace onceward {
namespace {

using http::same_name;

// True of the request as a whole, of its body or of its answer, and not of one item.
constexpr std::array<std::string_view, 16> of_the_whole = {"Prefer",
                                                           "Expect",
                                                           "Range",
                                                           "If-Match",
                                                           "If-None-Match",
                                                           "If-Range",
                                                           "If-Unmodified-Since",
                                                           "If-Modified-Since",
                                                           "Content-Length",
                                                           "Content-Encoding",
                                                           "Content-MD5",
                                                           "Content-Digest",
                                                           "Repr-Digest",
                                                           "Digest",
                                                           "Signature",
                                                           "Signature-Input"};

bool any_is(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view one) { return same_name(one, name); });
}

}  // namespace

BulkHead::BulkHead(const http::RequestHead& request, const http::PeerInfo& peer, const Rules& rules,
                   const KeyPolicy& key, Random& random, bool with_token)
    : key_header_(key.from == KeySource::named_header ? key.from_argument : key.header),
      host_(request.host),
      peer_address_(peer.address),
      tls_(peer.tls),
      with_token_(with_token) {
  const bool begins_trace = !has_trace(request.headers);
  const http::HopByHop hops(request.headers, rules.protected_names());
  for (const http::HeaderView& field : request.headers) {
    if (same_name(field.name, key_header_) || any_is(of_the_whole, field.name)) continue;
    if (hops.drops(field.name) || any_is(dropped_request_names(begins_trace), field.name)) continue;
    if (same_name(field.name, "Content-Type")) content_type_ = field.value;
    lines_.emplace_back(field.name, field.value);
  }
  if (content_type_.empty()) {
    content_type_ = "application/json";
    lines_.emplace_back("Content-Type", content_type_);
  }
  if (begins_trace) {
    // One trace for all items: they are one client's request.
    const TraceLine trace = begin_trace(random);
    std::string_view line = trace.view();
    line.remove_suffix(2);  // the end of the line
    const std::size_t colon = line.find(": ");
    lines_.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
}

http::HeaderList BulkHead::headers() const {
  http::HeaderList headers;
  for (const auto& [name, value] : lines_) headers.add(name, value);
  return headers;
}

std::string BulkHead::reference(const ReferenceRule& rule, std::string_view item) const {
  return reference_of(rule, headers(), item);
}

void BulkHead::write(std::string& out, const Item& item, std::size_t body_bytes, const Grant& grant,
                     const http::Upstream& upstream) const {
  http::RequestHead request;
  request.method = item.method;
  request.target = item.target;
  request.host = host_;
  request.headers = headers();
  http::Scratch extra;
  http::append_line(*extra, key_header_, item.key);
  if (grant.epoch != 0) {
    http::append_line(*extra, "Onceward-Operation-Id", to_string(grant.operation_id));
    http::append_line(*extra, "Onceward-Epoch", std::to_string(grant.epoch));
    if (with_token_) {
      http::append_line(*extra, "Onceward-Token",
                        transaction_token(grant.operation_id, grant.epoch, grant.owner));
    }
  }
  http::ForwardOptions options;
  options.peer_address = peer_address_;
  options.tls = tls_;
  options.extra_lines = *extra;
  options.base_path = upstream.base_path();
  options.fallback_host = upstream.authority();
  http::write_request_head(out, request, http::Body::length(body_bytes), options);
}

}  // namespace onceward
