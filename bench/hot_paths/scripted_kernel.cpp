#include "scripted_kernel.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace onceward::bench {
namespace {

constexpr int descriptors = 16;
enum class Role : std::uint8_t { none, listener, client, upstream };

struct Descriptor {
  Role role = Role::none;
  void* watch = nullptr;
  std::uint32_t due = 0;  // events to report
  std::string incoming;
  std::size_t read = 0;
};

ScriptedKernel* kernel = nullptr;
std::array<Descriptor, descriptors> table;
bool accepted = false;

Descriptor* of(int fd) {
  return fd >= 0 && fd < descriptors ? &table[static_cast<std::size_t>(fd)] : nullptr;
}

int any_descriptor() { return ::open("/dev/null", O_RDWR | O_CLOEXEC); }

void deliver(Descriptor& to, std::string_view bytes) {
  to.incoming.assign(bytes);
  to.read = 0;
  to.due |= EPOLLIN;
}

// The client sends its next request once it has the answer to the last one.
bool client_goes_on() {
  for (Descriptor& descriptor : table) {
    if (descriptor.role != Role::client) continue;
    const std::string request = kernel->next_request();
    if (request.empty()) return false;
    deliver(descriptor, request);
    return true;
  }
  return false;
}

int take_events(epoll_event* events, int max) {
  int count = 0;
  for (Descriptor& descriptor : table) {
    if (descriptor.due == 0 || !descriptor.watch || count == max) continue;
    events[count].events = descriptor.due;
    events[count++].data.ptr = descriptor.watch;
    descriptor.due = 0;
  }
  return count;
}

}  // namespace

void use_kernel(ScriptedKernel& given) { kernel = &given; }

}  // namespace onceward::bench

// What the C library would have answered. Only the descriptors of sockets come here: everything else of
// the program (files, random numbers, clocks) is real.
using namespace onceward::bench;

extern "C" {

int epoll_ctl(int, int operation, int fd, epoll_event* event) {
  Descriptor* descriptor = of(fd);
  if (descriptor && operation == EPOLL_CTL_ADD) {
    descriptor->watch = event->data.ptr;
    if (descriptor->role == Role::none) {
      int listens = 0;
      socklen_t bytes = sizeof listens;
      if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens != 0) {
        descriptor->role = Role::listener;
        descriptor->due = EPOLLIN;
      }
    } else {
      descriptor->due |= EPOLLOUT;
    }
  }
  return 0;
}

int epoll_wait(int, epoll_event* events, int max, int) {
  int count = take_events(events, max);
  if (count == 0 && client_goes_on()) count = take_events(events, max);
  if (count == 0) kernel->on_idle();
  return count;
}

int accept4(int, sockaddr* from, socklen_t* bytes, int) {
  if (accepted) {
    errno = EAGAIN;
    return -1;
  }
  accepted = true;
  std::memset(from, 0, *bytes);
  from->sa_family = AF_INET;
  *bytes = 16;
  const int fd = any_descriptor();
  of(fd)->role = Role::client;
  return fd;
}

int connect(int fd, const sockaddr*, socklen_t) {
  of(fd)->role = Role::upstream;
  return 0;
}

ssize_t recv(int fd, void* into, size_t size, int flags) {
  Descriptor& descriptor = *of(fd);
  const size_t left = descriptor.incoming.size() - descriptor.read;
  if (left == 0) {
    errno = EAGAIN;
    return -1;
  }
  const size_t count = std::min(left, size);
  std::memcpy(into, descriptor.incoming.data() + descriptor.read, count);
  if ((flags & MSG_PEEK) == 0) descriptor.read += count;
  return static_cast<ssize_t>(count);
}

ssize_t sendmsg(int fd, const msghdr* message, int) {
  Descriptor& descriptor = *of(fd);
  size_t total = 0;
  kernel->last_answer.clear();
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    const iovec& part = message->msg_iov[i];
    if (descriptor.role == Role::client)
      kernel->last_answer.append(static_cast<const char*>(part.iov_base), part.iov_len);
    total += part.iov_len;
  }
  if (descriptor.role == Role::client) {
    ++kernel->answered;
  } else {
    ++kernel->forwarded;
    deliver(descriptor, kernel->answer);
  }
  return static_cast<ssize_t>(total);
}

}  // extern "C"
