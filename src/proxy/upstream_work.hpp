// UpstreamWork: the proxy's Work. Sends one captured request on one connection and reads one answer. It
// owns every byte it needs, because it may outlive the client's exchange. Only on its worker's thread.
#pragma once

#include <memory>
#include <string>

#include "engine/work.hpp"
#include "http/exchange.hpp"
#include "http/scratch.hpp"
#include "http/upstream.hpp"
#include "ops/metrics.hpp"
#include "proxy/capture.hpp"
#include "proxy/rules.hpp"

namespace onceward {

// Writes the request's head for the upstream. A replay needs none, so it is asked for only by execute(),
// which the engine calls while the caller still waits.
class HeadWriter {
 public:
  virtual void write(std::string& head, std::size_t body_bytes, const Grant& grant) const = 0;

 protected:
  ~HeadWriter() = default;
};

class UpstreamWork final : public Work {
 public:
  struct Request {
    std::string method;
    std::string body;
  };

  UpstreamWork(std::shared_ptr<http::Upstream> upstream, std::shared_ptr<const Policy> policy,
               std::size_t max_response, Request request, OperationMetrics& metrics);

  bool ready() override;
  Task<Result<Done>> prepare() override;
  void stand_down() override { lease_ = {}; }
  Task<Effect> execute(Grant grant) override;
  Task<std::optional<Answer>> late() override;

  const std::string& body() const { return request_.body; }
  // For the first caller, once execute() has given an Answer.
  const std::string& first_lines() const { return captured_.first_lines; }
  const std::string& reason() const { return reason_; }
  std::chrono::nanoseconds took() const { return took_; }
  // The part of an answer that was too large to keep and is still to come, piece by piece.
  bool has_more() const { return has_more_; }
  http::Body announced_body() const { return announced_; }
  const std::string& begun_body() const { return body_; }
  Task<http::BodyPiece> read_more();

  // The caller's, while it waits; null otherwise.
  const HeadWriter* head = nullptr;
  // From then on nothing is sent, though the claim was granted.
  MonoTime send_before = MonoTime::max();
  // An answer's own ttl is not taken if it is shorter.
  Duration shortest_ttl{};
  // The client's end, for interim answers (1xx) while it is still there; null otherwise.
  http::Exchange* client = nullptr;

 private:
  using Sent = http::Sent;

  Task<Effect> send_nothing();
  Task<Effect> send_on_another(Grant grant, MonoTime deadline);
  Task<Effect> send_and_receive(Grant grant, Task<Sent> sending, MonoTime deadline);
  Task<Effect> receive(MonoTime deadline);
  void take_head(const http::ResponseHead& answer);
  // After anything but the head of a final answer. Nothing: that has come after all.
  Task<std::optional<Effect>> receive_head(http::HeadStatus status, MonoTime deadline);
  Effect received(http::BodyStatus body);
  Effect lost(UnknownCause cause) const;
  Effect over(Effect effect);

  const std::shared_ptr<http::Upstream> upstream_;  // shared with the worker, which may reload to another
  const std::shared_ptr<const Policy> policy_;
  const std::size_t max_response_;
  const Request request_;
  OperationMetrics& metrics_;
  http::Lease lease_;
  http::Scratch text_;  // of the head that was sent

  MonoTime began_{};
  MonoTime hold_until_{};
  bool head_done_ = false;
  bool timed_out_ = false;
  std::uint16_t status_ = 0;
  std::string reason_;
  CapturedHead captured_;
  http::Body announced_;
  std::string body_;
  bool has_more_ = false;
  std::chrono::nanoseconds took_{-1};
};

}  // namespace onceward
