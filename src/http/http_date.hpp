// The Date header's line, made once per second and thread.
#pragma once

#include <string_view>

namespace onceward::http {

std::string_view date_line();  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"; valid until the next call

}  // namespace onceward::http
