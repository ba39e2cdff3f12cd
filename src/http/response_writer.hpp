// Header lines of an upstream's answer as they are passed on to a client: without hop-by-hop lines and
// framing, which the server writes anew. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "http/head.hpp"

namespace onceward::http {

// Appends "Name: value\r\n" lines of all end-to-end headers, except those named in `drop`.
void append_response_lines(std::string& out, const ResponseHead& response,
                           std::span<const std::string_view> drop = {});

// "HTTP/1.1 200 OK\r\n"; an empty reason means the usual one.
void append_status_line(std::string& out, int status, std::string_view reason);
std::string_view usual_reason(int status);

void append_number(std::string& out, std::uint64_t number);
void append_line(std::string& out, std::string_view name, std::string_view value);

}  // namespace onceward::http
