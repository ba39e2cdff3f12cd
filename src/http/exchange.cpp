#include "http/exchange.hpp"

#include "http/connection.hpp"

namespace onceward::http {

const RequestHead& Exchange::request() const { return connection_.head_; }
const PeerInfo& Exchange::peer() const { return connection_.peer_; }
Executor& Exchange::executor() { return connection_.server_.worker; }

Task<BodyPiece> Exchange::read_body_some() { return connection_.read_body_some(); }
Task<ReadBody> Exchange::read_body(std::size_t limit, std::string& out) {
  return connection_.read_body(limit, out);
}
bool Exchange::body_buffered() const { return connection_.body_buffered(); }
void Exchange::stop_reading() { connection_.stop_reading(); }
void Exchange::read_on() { connection_.read_on(); }

Task<bool> Exchange::respond(int status, std::string_view lines, std::string_view body,
                             std::string_view reason) {
  return connection_.respond(status, lines, body, reason);
}
Task<bool> Exchange::start(int status, std::string_view lines, Body body, std::string_view reason,
                           bool hold) {
  return connection_.start(status, lines, body, reason, hold);
}
Task<bool> Exchange::write(std::string_view data) { return connection_.write(data); }
Task<bool> Exchange::finish() { return connection_.finish(); }
void Exchange::abort() { connection_.abort(); }
Task<bool> Exchange::informational(int status, std::string_view lines) {
  return connection_.informational(status, lines);
}

bool Exchange::answered() const { return connection_.answer_ != Connection::Answer::none; }
int Exchange::status() const { return connection_.status_; }
bool Exchange::client_gone() const { return connection_.stream_.broken(); }
std::uint64_t Exchange::bytes_sent() const { return connection_.bytes_sent_; }

net::Stream& Exchange::take_stream() {
  connection_.tunnel_ = true;
  return connection_.stream_;
}
std::string_view Exchange::buffered() const { return connection_.in_.unread(); }

}  // namespace onceward::http
