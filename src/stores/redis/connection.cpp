#include "stores/redis/connection.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace onceward::redis {
namespace {

constexpr Duration pause_first{50};
constexpr Duration pause_longest{2000};
constexpr std::size_t batch_bytes_max = std::size_t{1} << 20;

MonoTime now() { return net::Worker::now(); }

Error refused(const Error& why) { return {Errc::refused, why.message}; }

}  // namespace

Connection::Connection(net::Worker& worker, TaskGroup& tasks, ConnectionOptions options)
    : worker_(worker),
      tasks_(tasks),
      options_(std::move(options)),
      link_(worker, options_.tls, options_.url.tls.verify),
      back_off_(worker),
      writer_ended_(worker) {
  flush_.connection = this;
  flush_.run = [](Completion* self) {
    Connection* connection = static_cast<Flush*>(self)->connection;
    connection->tasks_.start(connection->write_out());
  };
  deadlines_.connection = this;
  deadlines_.run = [](Timer* self) { static_cast<Deadlines*>(self)->connection->on_deadline(); };
}

Connection::~Connection() {
  ONCEWARD_ASSERT(waiting_.empty());
  ONCEWARD_ASSERT(sent_.empty());
  worker_.cancel(deadlines_);
}

void Connection::start() { tasks_.start(live()); }

void Connection::stop() {
  stopping_ = true;
  lose("the store is being closed");
  back_off_.wake_all();
}

void Connection::lose(std::string why) {
  failure_ = {Errc::unavailable, std::move(why)};
  link_.close();
}

Task<> Connection::live() {
  pause_ = pause_first;
  while (!stopping_) {
    const Result<Done> connected = co_await connect();
    tried_ = true;
    if (connected && !stopping_) {
      down_ = false;
      ready_ = true;
      pause_ = pause_first;
      told();
      if (!waiting_.empty() && !flushing_) flushing_ = true, worker_.post(&flush_);
      co_await read_replies();
      ready_ = false;
    } else {
      down_ = true;
      if (!connected) failure_ = connected.error();
    }
    link_.close();
    if (flushing_) (void)co_await writer_ended_.wait(MonoTime::max());
    link_.forget();
    fail_sent();
    told();
    if (!down_) continue;
    refuse_waiting(failure_);
    if (!stopping_) (void)co_await back_off_.wait(now() + next_pause());
  }
  down_ = true;
  refuse_waiting(failure_);
}

Duration Connection::next_pause() {
  std::uint8_t chance = 0;
  random_.fill({&chance, 1});
  // Half fixed, half chance, so that many proxies do not come back in step.
  const Duration pause = pause_ / 2 + pause_ / 2 * chance / 255;
  pause_ = std::min(pause_ * 2, pause_longest);
  return pause;
}

Task<Result<Done>> Connection::connect() {
  const MonoTime deadline = now() + options_.url.connect_timeout;
  Result<Endpoint> endpoint = co_await options_.find();
  if (!endpoint) co_return endpoint.error();
  Result<Done> done = co_await link_.connect(*endpoint, deadline);
  if (done) done = co_await link_.introduce(options_.url.credentials, options_.url.database, deadline);
  if (done) done = co_await learn_facts(deadline);
  // A cluster's replica sends everybody on to its primary, and may become one.
  if (options_.url.topology == Topology::cluster) facts_.role.clear();
  if (options_.purpose == Purpose::copies) facts_.maxmemory_policy.clear();
  if (done) done = check_fit(facts_);
  co_return done;
}

Task<Result<Done>> Connection::learn_facts(MonoTime deadline) {
  std::string commands;
  append_command(commands, {"INFO"});
  const std::string_view parameters[] = {"maxmemory", "maxmemory-policy", "appendonly", "appendfsync"};
  for (const std::string_view name : parameters) append_command(commands, {"CONFIG", "GET", name});
  const auto replies = co_await link_.exchange(std::move(commands), 1 + std::size(parameters), deadline);
  if (!replies) co_return replies.error();
  facts_ = {};
  for (const RespReply& reply : *replies) {
    // A user may lack the right to ask; then what is not known is warned of. Other errors say that the server
    // is not ready (LOADING, NOAUTH).
    if (is_error(*reply) && !text_of(*reply).starts_with("NOPERM") && !text_of(*reply).starts_with("ERR"))
      co_return Error{Errc::refused, to_string(endpoint()) + ": " + std::string(text_of(*reply))};
    if (reply->type == REDIS_REPLY_STRING) read_info(text_of(*reply), facts_);
    const auto pair = elements_of(*reply);
    if (pair.size() == 2) read_config(text_of(*pair[0]), text_of(*pair[1]), facts_);
  }
  co_return Done{};
}

Task<> Connection::read_replies() {
  for (;;) {
    Result<RespReply> reply = co_await link_.read(MonoTime::max());
    if (!reply) {
      // Who closed it knows better why.
      if (link_.is_open()) failure_ = reply.error();
      co_return;
    }
    if (!take_reply(std::move(*reply))) co_return;
  }
}

// False: the connection is of no more use.
bool Connection::take_reply(RespReply reply) {
  if (sent_.empty()) {
    failure_ = {Errc::unavailable, to_string(endpoint()) + ": it sent a reply that nothing asked for"};
    return false;
  }
  Call* call = sent_.front().call;
  if (call && --call->replies != 0) {
    if (call->all) call->all->push_back(std::move(reply));
    return true;
  }
  sent_.pop_front();
  if (!call) {
    const std::int64_t replicas = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    for (Call* held : std::exchange(held_, {})) {
      held->replicas = replicas;
      held->waiting.resume();
    }
    return true;
  }
  // A primary that became a replica: its readers would see the past.
  const bool demoted = is_error(*reply) && text_of(*reply).starts_with("READONLY");
  call->reply = std::move(reply);
  if (call->replicated) {
    held_.push_back(call);
  } else {
    call->waiting.resume();
  }
  if (demoted) failure_ = {Errc::unavailable, to_string(endpoint()) + ": it is no longer a primary"};
  return !demoted;
}

bool Connection::Sending::await_ready() {
  Connection& c = connection_;
  if (!c.stopping_ && !c.down_) return false;
  call_.reply = refused(c.failure_);
  return true;
}

void Connection::enqueue(Call& call) {
  waiting_.push_back(&call);
  watch_deadline(call.deadline);
  if (!ready_ || flushing_) return;
  // Posted, so that everything that is asked for in this turn of the loop goes out together.
  flushing_ = true;
  worker_.post(&flush_);
}

void Connection::gather() {
  out_.clear();
  ++batch_;
  bool replicated = false;
  MonoTime deadline{};
  while (!waiting_.empty() && out_.size() < batch_bytes_max) {
    Call* call = waiting_.front();
    waiting_.pop_front();
    out_ += call->bytes;
    call->batch = batch_;
    call->ends_at = out_.size();
    sent_.push_back({call, call->deadline});
    replicated = replicated || call->replicated;
    deadline = std::max(deadline, call->deadline);
  }
  if (!replicated) return;
  // One for all of them: it counts up to the connection's last write.
  append_command(out_, {"WAIT", std::to_string(options_.url.wait_replicas),
                        std::to_string(options_.url.wait_timeout.count())});
  sent_.push_back({nullptr, deadline});
}

Task<> Connection::write_out() {
  while (ready_ && !waiting_.empty()) {
    gather();
    const std::uint64_t before = link_.bytes_out();
    if (co_await link_.write(out_, now() + options_.url.timeout)) continue;
    mark_unsent(link_.bytes_out() - before);
    lose(to_string(endpoint()) + ": the connection ended while a command was being sent");
    break;
  }
  flushing_ = false;
  writer_ended_.wake_all();
}

// A server executes whole commands only, so what did not go out to its end was not executed. What TLS has
// taken cannot be compared with our bytes, unless it is nothing.
void Connection::mark_unsent(std::uint64_t accepted) {
  for (Sent& sent : sent_) {
    if (!sent.call || sent.call->batch != batch_) continue;
    if (accepted == 0 || (!link_.is_encrypted() && sent.call->ends_at > accepted)) sent.call->ends_at = 0;
  }
}

void Connection::fail_sent() {
  const std::deque<Sent> sent = std::exchange(sent_, {});
  const std::deque<Call*> held = std::exchange(held_, {});
  // Their commands were answered, but nobody knows how many replicas have them.
  for (Call* call : held) call->replicas = 0;
  for (Call* call : held) call->waiting.resume();
  for (const Sent& entry : sent) {
    if (!entry.call) continue;
    const bool unsent = entry.call->ends_at == 0;
    entry.call->reply = Error{unsent ? Errc::refused : Errc::unavailable, failure_.message};
    entry.call->waiting.resume();
  }
}

void Connection::refuse_waiting(const Error& why) {
  for (Call* call : std::exchange(waiting_, {})) {
    call->reply = refused(why);
    call->waiting.resume();
  }
}

void Connection::watch_deadline(MonoTime at) {
  if (!deadlines_.armed() || deadlines_.at > at) worker_.arm(deadlines_, at);
}

void Connection::on_deadline() {
  const MonoTime at = now();
  // Commands behind one that is not answered would wait as long: the connection is given up.
  if (!sent_.empty() && sent_.front().deadline <= at) lose(to_string(endpoint()) + ": no answer in time");
  std::deque<Call*> late;
  std::erase_if(waiting_, [&](Call* call) {
    if (call->deadline > at) return false;
    late.push_back(call);
    return true;
  });
  for (Call* call : late) {
    call->reply = Error{Errc::refused, "no connection in time: " + failure_.message};
    call->waiting.resume();
  }
  if (!sent_.empty() && sent_.front().deadline > at) watch_deadline(sent_.front().deadline);
  for (const Call* call : waiting_) watch_deadline(call->deadline);
}

void Connection::told() {
  if (options_.changed) options_.changed();
}

}  // namespace onceward::redis
