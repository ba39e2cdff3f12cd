#include "net/resolver.hpp"

#include <memory>
#include <thread>
#include <utility>

namespace onceward::net {
namespace {

constexpr Duration trusted_for = std::chrono::seconds(30);

bool is_numeric(const std::string& host) {
  return host.find_first_not_of("0123456789.") == std::string::npos || host.find(':') != std::string::npos;
}

}  // namespace

struct Resolver::Lookup : Completion {
  Resolver* owner = nullptr;  // null once the resolver is gone
  Result<std::vector<SocketAddress>> result = Error{};
  std::thread thread;
};

Resolver::Resolver(Worker& worker, std::string host, std::string port)
    : worker_(worker), host_(std::move(host)), port_(std::move(port)), waiting_(worker) {
  if (!is_numeric(host_)) return;
  auto literal = resolve_address(host_, port_, false);
  if (!literal) return;
  numeric_ = true;
  found_ = std::move(*literal);
}

Resolver::~Resolver() {
  if (!running_) return;
  running_->owner = nullptr;
  running_->thread.join();
}

void Resolver::start_lookup() {
  if (running_) return;
  running_ = new Lookup;
  running_->owner = this;
  running_->run = [](Completion* self) {
    const std::unique_ptr<Lookup> lookup(static_cast<Lookup*>(self));
    if (lookup->owner) lookup->owner->finish(*lookup);
  };
  // The thread may touch the lookup and the worker only: both live until its completion has run.
  running_->thread = std::thread([lookup = running_, worker = &worker_, host = host_, port = port_] {
    lookup->result = resolve_address(host, port, false);
    worker->post(lookup);
  });
}

void Resolver::finish(Lookup& lookup) {
  lookup.thread.join();
  running_ = nullptr;
  if (lookup.result) {
    found_ = std::move(*lookup.result);
    found_at_ = Worker::now();
    stale_ = false;
  } else {
    error_ = lookup.result.error();
  }
  waiting_.wake_all();
}

Task<Result<std::vector<SocketAddress>>> Resolver::addresses(MonoTime deadline) {
  if (numeric_) co_return found_;
  const bool old = stale_ || Worker::now() - found_at_ > trusted_for;
  if (old) start_lookup();
  if (found_.empty() && !co_await waiting_.wait(deadline))
    co_return Error{Errc::unavailable, host_ + ": the name was not resolved in time"};
  if (found_.empty()) co_return error_;
  co_return found_;
}

}  // namespace onceward::net
