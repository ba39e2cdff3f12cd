// Between the public HTTP values and the proxy's: heads are views, stored headers are lines. Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/head.hpp"
#include "onceward/http.hpp"

namespace onceward::api {

// Views into the message, which must outlive them.
http::RequestHead head_of(const HttpRequest& request);
http::ResponseHead head_of(const HttpResponse& response);

// "Name: value\r\n" lines as headers.
HttpHeaders headers_from(std::string_view lines);

}  // namespace onceward::api
