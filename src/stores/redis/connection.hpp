// Connection: one server, kept connected. Commands of any number of verbs are pipelined: everything that
// waits goes out in one write, replies come back in order. It reconnects with back-off and jitter, and says
// of every command without a reply whether it can have been executed. Belongs to the I/O thread.
#pragma once

#include <coroutine>
#include <deque>
#include <functional>
#include <string>

#include "base/system.hpp"
#include "net/wait_list.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/server_facts.hpp"
#include "stores/redis/task_group.hpp"

namespace onceward::redis {

// One command on its way, in the frame of whoever waits for it.
struct Call {
  std::string bytes;                      // whole commands
  std::size_t replies = 1;                // to these commands; the last one counts
  std::vector<RespReply>* all = nullptr;  // if they all do
  bool replicated = false;                // answered only when replicas have been waited for
  MonoTime deadline{};
  // Errc::refused: provably not executed. Errc::unavailable: perhaps. An error of the server is a reply.
  Result<RespReply> reply = Error{};
  std::int64_t replicas = 0;  // that have it, when `replicated`

  std::coroutine_handle<> waiting{};
  std::uint64_t batch = 0;
  std::size_t ends_at = 0;  // in its batch
};

// What the server is for. Copies may be evicted; records may not.
enum class Purpose : std::uint8_t { records, copies };

struct ConnectionOptions {
  const RedisUrl& url;
  SSL_CTX* tls = nullptr;
  Purpose purpose = Purpose::records;
  // Where to connect to now: a fixed place, or what a sentinel says.
  std::function<Task<Result<Endpoint>>()> find;
  // After each attempt to connect, and whenever it is lost.
  std::function<void()> changed;
};

class Connection {
 public:
  Connection(net::Worker& worker, TaskGroup& tasks, ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  void stop();  // for good; whoever waits is answered

  class Sending;
  Sending send(Call& call);  // co_await: call.reply is filled

  void lose(std::string why);  // closes and connects anew

  bool is_ready() const { return ready_; }
  bool tried() const { return tried_; }              // has had its first attempt
  const Error& failure() const { return failure_; }  // of the last attempt, or why it was lost
  const ServerFacts& facts() const { return facts_; }
  const Endpoint& endpoint() const { return link_.endpoint(); }

 private:
  struct Flush : Completion {
    Connection* connection = nullptr;
  };
  struct Deadlines : Timer {
    Connection* connection = nullptr;
  };
  struct Sent {
    Call* call = nullptr;  // null: WAIT
    MonoTime deadline{};
  };

  Task<> live();
  Task<Result<Done>> connect();
  Task<Result<Done>> learn_facts(MonoTime deadline);
  Task<> read_replies();
  Task<> write_out();
  void gather();
  bool take_reply(RespReply reply);
  void mark_unsent(std::uint64_t accepted);
  void enqueue(Call& call);
  void fail_sent();
  void refuse_waiting(const Error& why);
  void on_deadline();
  void watch_deadline(MonoTime at);
  void told();
  Duration next_pause();

  net::Worker& worker_;
  TaskGroup& tasks_;
  const ConnectionOptions options_;
  SystemRandom random_;
  Link link_;
  ServerFacts facts_;
  bool ready_ = false;
  bool down_ = false;  // the last attempt failed: nothing is worth waiting for
  bool tried_ = false;
  bool stopping_ = false;
  bool flushing_ = false;
  Error failure_{Errc::refused, "not connected yet"};
  Duration pause_{};
  std::deque<Call*> waiting_;
  std::deque<Sent> sent_;
  std::deque<Call*> held_;  // answered, until the next WAIT is
  std::string out_;
  std::uint64_t batch_ = 0;
  Flush flush_;
  Deadlines deadlines_;
  net::WaitList back_off_;
  net::WaitList writer_ended_;
};

class Connection::Sending {
 public:
  Sending(Connection& connection, Call& call) : connection_(connection), call_(call) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiting) {
    call_.waiting = waiting;
    connection_.enqueue(call_);
  }
  void await_resume() const noexcept {}

 private:
  Connection& connection_;
  Call& call_;
};

inline Connection::Sending Connection::send(Call& call) { return {*this, call}; }

}  // namespace onceward::redis
