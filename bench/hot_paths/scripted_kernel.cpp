#include "scripted_kernel.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
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

long receive(int fd, char* into, std::size_t size, int flags) {
  Descriptor& descriptor = *of(fd);
  const std::size_t left = descriptor.incoming.size() - descriptor.read;
  if (left == 0) {
    errno = EAGAIN;
    return -1;
  }
  const std::size_t count = std::min(left, size);
  std::memcpy(into, descriptor.incoming.data() + descriptor.read, count);
  if ((flags & MSG_PEEK) == 0) descriptor.read += count;
  return static_cast<long>(count);
}

long send(int fd, std::string_view bytes) {
  Descriptor& descriptor = *of(fd);
  kernel->last_answer.clear();
  if (descriptor.role == Role::client) {
    kernel->last_answer.append(bytes);
    ++kernel->answered;
  } else {
    ++kernel->forwarded;
    deliver(descriptor, kernel->answer);
  }
  return static_cast<long>(bytes.size());
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

int epoll_wait(int, epoll_event* events, int max, int timeout) {
  int count = take_events(events, max);
  if (timeout == 0) return count;  // only a look: what happens next waits until there is nothing else to do
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

long syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  std::array<long, 6> given{};
  for (long& one : given) one = va_arg(arguments, long);
  va_end(arguments);
  const int fd = static_cast<int>(given[0]);
  const auto bytes = static_cast<std::size_t>(given[2]);
  switch (number) {
    case SYS_recvfrom:
      return receive(fd, reinterpret_cast<char*>(given[1]), bytes, static_cast<int>(given[3]));
    case SYS_sendto:
      return send(fd, {reinterpret_cast<const char*>(given[1]), bytes});
    case SYS_sendmsg:  // nothing that is measured is that large
      std::abort();
    default: {
      static const auto real = reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
      return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    }
  }
}

}  // extern "C"
