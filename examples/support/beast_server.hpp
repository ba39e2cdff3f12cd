// A small Boost.Beast server: one thread per connection, whole requests and responses. Serves on 127.0.0.1
// until SIGTERM; requests that are being answered then are answered.
#pragma once

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <condition_variable>
#include <mutex>
#include <set>

#include "support/program.hpp"

namespace examples {

class BeastServer {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Handler = std::function<Response(const Request&)>;

  explicit BeastServer(Handler handler) : handler_(std::move(handler)) {}

  int serve(const EndSignals& ends, const char* name, const std::string& port_text) {
    boost::system::error_code failed;
    const auto port = static_cast<unsigned short>(std::atoi(port_text.c_str()));
    const Tcp::endpoint here(boost::asio::ip::make_address("127.0.0.1"), port);
    Tcp::acceptor acceptor(context_);
    acceptor.open(here.protocol(), failed);
    acceptor.set_option(Tcp::acceptor::reuse_address(true), failed);
    if (acceptor.bind(here, failed) || acceptor.listen(1024, failed)) return port_taken(name, port_text);
    std::thread waits = ends.wait_then([&] { ::shutdown(acceptor.native_handle(), SHUT_RDWR); });
    say_where(name, acceptor.local_endpoint().port());
    for (;;) {
      Tcp::socket socket(context_);
      if (acceptor.accept(socket, failed)) break;
      begin(std::move(socket));
    }
    waits.join();
    end_all();
    return 0;
  }

 private:
  using Tcp = boost::asio::ip::tcp;

  void begin(Tcp::socket socket) {
    const std::scoped_lock lock(mutex_);
    const int handle = socket.native_handle();
    open_.insert(handle);
    std::thread([this, handle, socket = std::move(socket)]() mutable {
      talk(socket);
      const std::scoped_lock ended(mutex_);
      open_.erase(handle);  // before it is closed: the number may then be another's
      socket.close();
      changed_.notify_all();
    }).detach();
  }

  void talk(Tcp::socket& socket) {
    boost::beast::flat_buffer buffer;
    boost::system::error_code failed;
    for (;;) {
      Request request;
      boost::beast::http::read(socket, buffer, request, failed);
      if (failed) return;
      const Response response = handler_(request);
      boost::beast::http::write(socket, response, failed);
      if (failed || !response.keep_alive()) return;
    }
  }

  // Nothing more is read; what is being answered is waited for.
  void end_all() {
    std::unique_lock lock(mutex_);
    for (const int handle : open_) ::shutdown(handle, SHUT_RD);
    changed_.wait(lock, [this] { return open_.empty(); });
  }

  const Handler handler_;
  boost::asio::io_context context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> open_;
};

}  // namespace examples
