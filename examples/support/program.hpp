// What every example needs to be a program: options, and an end on SIGTERM or SIGINT.
#pragma once

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace examples {

// Made first in main(): a signal must not find a thread, of whoever's, that does not know of it.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  // Calls `stop` when one of them comes; to be joined after that.
  std::thread wait_then(std::function<void()> stop) const {
    return std::thread([signals = signals_, stop = std::move(stop)] {
      int signal = 0;
      sigwait(&signals, &signal);
      stop();
    });
  }

 private:
  sigset_t signals_{};
};

// --name value pairs; anything else ends the program with exit code 2.
inline std::map<std::string, std::string> read_options(int argc, char** argv,
                                                       std::map<std::string, std::string> options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (!name.starts_with("--") || !options.contains(name.substr(2)) || i + 1 == argc) {
      std::fprintf(stderr, "%s: options, each with a value:", argv[0]);
      for (const auto& [known, value] : options) std::fprintf(stderr, " --%s", known.c_str());
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
    options[name.substr(2)] = argv[i + 1];
  }
  return options;
}

inline void say_where(const char* name, int port) {
  std::printf("%s listens on http://127.0.0.1:%d\n", name, port);
  std::fflush(stdout);
}

inline int port_taken(const char* name, const std::string& port) {
  std::fprintf(stderr, "%s: port %s is not free\n", name, port.c_str());
  return 1;
}

}  // namespace examples
