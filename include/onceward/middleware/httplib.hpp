// A filter for cpp-httplib servers: wraps a handler so that retries of a request with an Idempotency-Key
// find the first one's answer. The handler stays as it is and knows nothing of it.
//
//   onceward::HttpGuard guard(engine);
//   server.Post("/orders", onceward::guarded(guard, create_order));
//
// Handlers run on httplib's threads, as always. Answers must be whole (set_content): one that streams from
// a content provider cannot be kept, and is turned into a 500, which is what every retry gets too.
// httplib leaves out headers without a value: an empty key is, to it and so to us, no key.
#pragma once

#include <httplib.h>
#include <strings.h>

#include <string>
#include <utility>

#include "onceward/http.hpp"

namespace onceward {

namespace api {

namespace httplib_filter {

// httplib takes multipart bodies apart; what it made of them stands for the body. Lengths keep apart what
// belongs apart.
inline std::string parts_of(const httplib::Request& request) {
  std::string parts;
  const auto add = [&parts](const std::string& text) { parts += std::to_string(text.size()) + ":" + text; };
  for (const auto& [name, part] : request.files) {
    for (const std::string* text : {&name, &part.filename, &part.content_type, &part.content}) add(*text);
  }
  return parts;
}

inline HttpRequest request_from(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.target = from.target.empty() ? from.path : from.target;
  for (const auto& [name, value] : from.headers) {
    // These four httplib adds itself; they say who is connected, not what was asked.
    if (name == "REMOTE_ADDR" || name == "REMOTE_PORT" || name == "LOCAL_ADDR" || name == "LOCAL_PORT")
      continue;
    // A boundary is chosen anew for every attempt.
    const bool boundary = from.is_multipart_form_data() && ::strcasecmp(name.c_str(), "Content-Type") == 0;
    request.headers.emplace_back(name, boundary ? "application/octet-stream" : value);
  }
  request.body = from.is_multipart_form_data() ? parts_of(from) : from.body;
  return request;
}

inline HttpResponse response_from(httplib::Response& from) {
  if (from.content_provider_)
    return {500, {{"Content-Type", "text/plain"}}, "a guarded handler cannot stream\n"};
  HttpResponse response;
  response.status = from.status == -1 ? 200 : from.status;
  for (const auto& [name, value] : from.headers) response.headers.emplace_back(name, value);
  response.body = std::move(from.body);
  return response;
}

inline void fill(httplib::Response& to, HttpResponse from) {
  to.status = from.status;
  to.headers.clear();
  for (auto& [name, value] : from.headers) to.headers.emplace(std::move(name), std::move(value));
  to.body = std::move(from.body);
}

}  // namespace httplib_filter

// The handler sees the request as httplib read it, with Onceward-Operation-Id and Onceward-Epoch added. The
// guard must outlive the server.
inline httplib::Server::Handler guarded(HttpGuard& guard, httplib::Server::Handler handler) {
  return
      [&guard, handler = std::move(handler)](const httplib::Request& request, httplib::Response& response) {
        const HttpResponse answer =
            guard.handle(httplib_filter::request_from(request), [&](const HttpRequest& granted) {
              httplib::Request seen = request;
              for (const char* name : {"Onceward-Operation-Id", "Onceward-Epoch"}) {
                seen.headers.erase(name);
                for (const auto& [header, value] : granted.headers) {
                  if (header == name) seen.headers.emplace(header, value);
                }
              }
              httplib::Response first;
              handler(seen, first);
              return httplib_filter::response_from(first);
            });
        httplib_filter::fill(response, answer);
      };
}

}  // namespace api

}  // namespace onceward
