// What /readyz says about the store. Filled in by whoever opened it; a plain value.
#pragma once

#include <string>

namespace onceward {

struct Readiness {
  bool ready = true;
  std::string store{};       // memory, file
  std::string durability{};  // none, process, disk
  std::string message{};     // why not ready
};

}  // namespace onceward
