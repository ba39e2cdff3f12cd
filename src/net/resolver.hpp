// Resolver: the addresses of one host, looked up on a thread of its own because getaddrinfo blocks. Old
// results are used while new ones are fetched. Called on the worker's thread; destroying it waits for a
// lookup that runs.
#pragma once

#include <string>
#include <vector>

#include "base/task.hpp"
#include "net/address.hpp"
#include "net/wait_list.hpp"
#include "net/worker.hpp"

namespace onceward::net {

class Resolver {
 public:
  Resolver(Worker& worker, std::string host, std::string port);
  ~Resolver();

  Task<Result<std::vector<SocketAddress>>> addresses(MonoTime deadline);
  void distrust() { stale_ = true; }  // none of them could be connected to

 private:
  struct Lookup;
  void start_lookup();
  void finish(Lookup& lookup);

  Worker& worker_;
  std::string host_;
  std::string port_;
  std::vector<SocketAddress> found_;
  Error error_;
  MonoTime found_at_{};
  bool numeric_ = false;
  bool stale_ = true;
  Lookup* running_ = nullptr;  // owns itself until its completion has run
  WaitList waiting_;
};

}  // namespace onceward::net
