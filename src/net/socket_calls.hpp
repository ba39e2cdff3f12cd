// Reading from and writing to a socket, as the kernel does it. The C library's functions are places where a
// thread may be cancelled, which costs two atomic operations a call as soon as there is a second thread;
// nobody is cancelled here. The sanitizers watch the C library's, so they get those.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace onceward::net {

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline ssize_t receive(int fd, char* into, std::size_t bytes, int flags) {
  return ::recv(fd, into, bytes, flags);
}
inline ssize_t send_one(int fd, const char* data, std::size_t bytes) {
  return ::send(fd, data, bytes, MSG_NOSIGNAL);
}
inline ssize_t send_gathered(int fd, const msghdr& message) { return ::sendmsg(fd, &message, MSG_NOSIGNAL); }
#else
inline ssize_t receive(int fd, char* into, std::size_t bytes, int flags) {
  return ::syscall(SYS_recvfrom, fd, into, bytes, flags, nullptr, nullptr);
}
inline ssize_t send_one(int fd, const char* data, std::size_t bytes) {
  return ::syscall(SYS_sendto, fd, data, bytes, MSG_NOSIGNAL, nullptr, 0);
}
inline ssize_t send_gathered(int fd, const msghdr& message) {
  return ::syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
}
#endif

}  // namespace onceward::net
