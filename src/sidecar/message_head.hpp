// MessageHead: the head of the request that carries a message to its service. Lives in the frame of the
// attempt; one thread.
#pragma once

#include <string>

#include "messaging/brokers/message_source.hpp"
#include "proxy/upstream_work.hpp"

namespace onceward::sidecar {

class MessageHead final : public HeadWriter {
 public:
  struct Target {
    std::string method;
    std::string target;     // path and query
    std::string authority;  // host:port
    std::string consumer;
  };
  MessageHead(const Target& target, const messaging::Message& message, std::string key, Random& random)
      : target_(target), message_(message), key_(std::move(key)), random_(random) {}
  void write(std::string& head, std::size_t body_bytes, const Grant& grant) const override;

 private:
  void write_message_lines(std::string& head) const;

  const Target& target_;
  const messaging::Message& message_;
  const std::string key_;
  Random& random_;
};

// As the service is told, and as the fingerprint counts it: what the message says, or what its body looks
// like.
std::string content_type_of(const messaging::Message& message);

}  // namespace onceward::sidecar
