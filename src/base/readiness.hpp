// What /readyz says about the store. Filled in by whoever opened it; a plain value.
#pragma once

#include <string>

namespace onceward {

struct Readiness {
  bool ready = true;
  std::string store{};       // memory, file, redis, postgres
  std::string durability{};  // none, process, disk; of a server what it says
  std::string message{};     // why not ready, or what is worth a warning
};

}  // namespace onceward
