// ScriptedKernel: stands in for the kernel's side of sockets, so that the whole proxy runs in one thread
// without a network and executes the same instructions every time. It replaces epoll, accept, connect and
// `syscall` at link time: one client sends requests, one upstream answers each of them at
// once. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace onceward::bench {

struct ScriptedKernel {
  std::function<std::string()> next_request;  // empty: the client sends no more
  std::string answer;                         // the upstream's, to every request
  std::function<void()> on_idle;              // when there is nothing left to happen
  std::size_t answered = 0;                   // requests that the client has an answer to
  std::size_t forwarded = 0;                  // requests that the upstream has seen
  std::string last_answer;                    // what the client got last
};

// The one that the replaced system calls talk to; set before the worker runs.
void use_kernel(ScriptedKernel& kernel);

}  // namespace onceward::bench
