// Connection: one client's connection, from accept to close. Made by the server, run by one detached
// coroutine of its worker; reads requests, hands each to the handler as an Exchange, writes the answers
// in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.hpp"
#include "http/buffer.hpp"
#include "http/exchange.hpp"
#include "http/long_piece.hpp"
#include "http/server.hpp"
#include "net/stream.hpp"

namespace onceward::http {

// What connections share with their server.
struct ServerShared {
  net::Worker& worker;
  Handler& handler;
  ServerLimits limits;
  bool draining = false;
};

class Connection {
 public:
  Connection(ServerShared& server, int fd, PeerInfo peer);

  void use_tls(net::TlsSession session) { stream_.use_tls(std::move(session)); }
  Task<> run();     // serves requests until the connection ends
  Task<> refuse();  // answers 503 and closes
  void close() { stream_.close(); }
  void close_if_idle() {
    if (idle_) stream_.close();
  }

  // Reading the request (body_reader.cpp).
  Task<BodyPiece> read_body_some();
  Task<ReadBody> read_body(std::size_t limit, std::string& out);
  bool body_buffered() const;  // all of a length body has arrived
  void stop_reading();
  void read_on();

  // Writing the answer (answer.cpp).
  Task<bool> respond(int status, std::string_view lines, std::string_view body, std::string_view reason);
  Task<bool> start(int status, std::string_view lines, Body body, std::string_view reason, bool hold);
  Task<bool> write(std::string_view data);
  Task<bool> finish();
  Task<bool> informational(int status, std::string_view lines);
  void abort();

 private:
  friend class Exchange;
  enum class Progress : std::uint8_t { next, stop };
  enum class Answer : std::uint8_t { none, streaming, done, cut };

  // How far the search for a head's end has come, and what it found.
  struct HeadSearch {
    std::size_t searched = 0;
    bool skipped = false;
  };
  struct HeadFound {
    enum class Status : std::uint8_t { whole, more, refused };
    Status status = Status::more;
    int answer = 0;
    std::string_view detail;
  };

  static MonoTime in(Duration time) { return net::Worker::recently() + time; }
  void forget_request();
  bool read_first(net::IoStatus wait);
  HeadFound take_head(HeadSearch& search);
  Task<Progress> read_head();
  Task<Progress> wait_for_head(HeadSearch search);
  void begin_request();
  Task<Progress> end_request();
  Task<Progress> end_unusual_request();
  Task<bool> drain_body();
  Task<Progress> protocol_error(int status, std::string_view detail);
  Task<> linger();
  std::optional<BodyPiece> next_piece();
  Task<BodyPiece> wait_for_piece();
  Task<ReadBody> read_more(std::size_t limit, std::string& out);
  Task<BodyStatus> fill(MonoTime deadline);
  Task<BodyStatus> send_continue();
  Task<ReadBody> read_length_body(std::string& out, MonoTime since);
  bool too_slow(MonoTime since, std::size_t bytes) const;
  // What follows a broken body cannot be told from it: the connection ends with this answer.
  template <class Status>
  Status fail_body(Status status) {
    body_failed_ = true;
    keep_alive_ = false;
    return status;
  }
  void begin_head(int status, std::string_view lines, std::string_view reason);
  void end_head();
  bool bodiless(int status) const;
  Task<bool> send(std::string_view first, std::string_view second = {}, std::string_view third = {});
  Task<bool> finish_send(Task<bool> writing);
  Task<bool> write_chunk(std::string_view data);

  ServerShared& server_;
  net::Stream stream_;
  PeerInfo peer_;
  Buffer in_;
  LongPiece long_piece_;
  RequestHead head_;
  BodyDecoder decoder_;
  std::string out_;
  bool reading_stopped_ = false;  // by stop_reading(): nothing is wrong with the body
  std::size_t piece_bytes_ = 0;   // of the input, behind the last piece given out
  std::uint64_t answer_left_ = 0;
  std::uint64_t bytes_sent_ = 0;
  int status_ = 0;
  Body::Kind answer_kind_ = Body::Kind::none;
  Answer answer_ = Answer::none;
  bool idle_ = false;
  bool keep_alive_ = true;
  bool continue_due_ = false;  // the client waits for "100 Continue" before it sends the body
  bool no_answer_body_ = false;
  bool held_ = false;  // the head in out_ goes out with what is written next
  bool tunnel_ = false;
  bool body_failed_ = false;
};

}  // namespace onceward::http
