// ForwardedHead: the head of a guarded request as the upstream gets it: the client's lines, ours, and
// what the grant says. Lives in the frame of the request that waits for its outcome; one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "onceward/executor.hpp"
#include "proxy/call.hpp"
#include "proxy/upstream_work.hpp"

namespace onceward {

// What only we may say to the upstream: a client that sends these is not believed.
std::span<const std::string_view> dropped_request_names(bool begins_trace);

class ForwardedHead final : public HeadWriter {
 public:
  // `with_token`: the upstream may finish the operation in a transaction of its own.
  ForwardedHead(const Proxy::Call& call, Random& random, bool with_token)
      : call_(call), random_(random), with_token_(with_token) {}
  void write(std::string& head, std::size_t body_bytes, const Grant& grant) const override;

 private:
  const Proxy::Call& call_;
  Random& random_;
  const bool with_token_;
};

}  // namespace onceward
