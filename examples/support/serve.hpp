// Serves a cpp-httplib server on 127.0.0.1 (port 0: any free one) until SIGTERM.
#pragma once

#include <httplib.h>

#include "support/program.hpp"

namespace examples {

inline int serve(httplib::Server& server, const EndSignals& ends, const char* name,
                 const std::string& port_text) {
  const int wanted = std::atoi(port_text.c_str());
  const int port = wanted == 0                                ? server.bind_to_any_port("127.0.0.1")
                   : server.bind_to_port("127.0.0.1", wanted) ? wanted
                                                              : -1;
  if (port < 0) return port_taken(name, port_text);
  server.set_keep_alive_timeout(1);  // an idle client must not hold up the end for long
  std::thread waits = ends.wait_then([&] { server.stop(); });
  say_where(name, port);
  const bool served = server.listen_after_bind();
  waits.join();
  return served ? 0 : 1;
}

}  // namespace examples
