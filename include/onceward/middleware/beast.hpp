// A filter for Boost.Beast servers: stands between a session, which reads requests and writes responses,
// and a service, which is a function from one to the other and knows nothing of idempotency.
//
//   onceward::HttpGuard guard(engine);
//   onceward::BeastFilter filter(guard, create_order);        // http::response<string_body>(request)
//   auto response = filter(request);                          // in a session with a thread of its own
//   filter.async_handle(request, token);                      // in an asynchronous one
//
// The asynchronous call runs the service on the completion handler's executor. Any thread; the guard and
// the filter must outlive what they handle.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "onceward/http.hpp"

namespace onceward {

namespace api {

class BeastFilter {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Service = std::function<Response(const Request&)>;

  BeastFilter(HttpGuard& guard, Service service) : guard_(guard), service_(std::move(service)) {}

  // Blocks while it waits for the store or for a first request that is still running.
  Response operator()(const Request& request) const {
    HttpResponse response = guard_.handle(
        from(request), [&](const HttpRequest& granted) { return from(service_(seen(request, granted))); });
    return to(std::move(response), request);
  }

  template <class Token>
  auto async_handle(Request request, Token&& token) const {
    return boost::asio::async_initiate<Token, void(Response)>(
        [this](auto handler, Request what) { this->start(std::move(what), std::move(handler)); }, token,
        std::move(request));
  }

 private:
  template <class Handler>
  void start(Request what, Handler handler) const {
    namespace asio = boost::asio;
    auto executor = asio::get_associated_executor(handler);
    auto guard = asio::make_work_guard(executor);
    // Shared by callbacks that are copied; the handler is called once.
    auto held = std::make_shared<std::pair<Request, Handler>>(std::move(what), std::move(handler));
    guard_.handle(
        from(held->first),
        [this, held, executor](const HttpRequest& granted, HttpGuard::Respond respond) {
          asio::post(executor, [this, held, granted, respond = std::move(respond)] {
            HttpResponse answer{500, {}, {}};
            try {
              answer = from(service_(seen(held->first, granted)));
            } catch (...) {
              // It may have happened: only an unknown outcome is true.
              answer.headers.emplace_back("Onceward-Outcome", "unknown");
            }
            respond(std::move(answer));
          });
        },
        [held, executor, guard](HttpResponse response) {
          asio::post(executor, [held, response = std::move(response)]() mutable {
            Handler told = std::move(held->second);
            std::move(told)(to(std::move(response), held->first));
          });
        });
  }

  static HttpRequest from(const Request& request) {
    HttpRequest plain;
    plain.method = std::string(request.method_string());
    plain.target = std::string(request.target());
    for (const auto& field : request) {
      plain.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    plain.body = request.body();
    return plain;
  }

  static HttpResponse from(Response response) {
    HttpResponse plain;
    plain.status = static_cast<int>(response.result_int());
    for (const auto& field : response) {
      plain.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    plain.body = std::move(response.body());
    return plain;
  }

  // The request as Beast read it, with Onceward-Operation-Id and Onceward-Epoch as granted.
  static Request seen(Request request, const HttpRequest& granted) {
    for (const char* name : {"Onceward-Operation-Id", "Onceward-Epoch"}) {
      request.erase(name);
      for (const auto& [header, value] : granted.headers) {
        if (header == name) request.set(header, value);
      }
    }
    return request;
  }

  static Response to(HttpResponse plain, const Request& request) {
    Response response;
    response.result(static_cast<unsigned>(plain.status));
    response.version(request.version());
    for (const auto& [name, value] : plain.headers) response.insert(name, value);
    response.body() = std::move(plain.body);
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    return response;
  }

  HttpGuard& guard_;
  Service service_;
};

}  // namespace api

}  // namespace onceward
