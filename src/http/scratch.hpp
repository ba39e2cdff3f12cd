// Scratch: a string to build something in, whose memory is kept for the next one on this thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace onceward::http {

class Scratch {
 public:
  Scratch() {
    if (spare().empty()) return;
    text_ = std::move(spare().back());
    spare().pop_back();
    text_.clear();
  }
  ~Scratch() {
    if (spare().size() < kept && text_.capacity() <= kept_bytes) spare().push_back(std::move(text_));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string& operator*() { return text_; }
  std::string* operator->() { return &text_; }

 private:
  static constexpr std::size_t kept = 256;
  static constexpr std::size_t kept_bytes = 16 * 1024;
  static std::vector<std::string>& spare() {
    thread_local std::vector<std::string> strings;
    return strings;
  }
  std::string text_;
};

}  // namespace onceward::http
