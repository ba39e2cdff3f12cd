// Result<T>: a value or an Error. Failures of the world (stores, networks, files, input) travel as
// values; broken invariants are ONCEWARD_ASSERT. C++20, so that the public headers need no <expected>.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace onceward {

enum class Errc {
  unavailable,  // the store cannot answer now; whether a write happened is not known (I10)
  refused,      // the store answered: it did nothing and will not (full, read-only)
  unreadable,   // a record exists but cannot be read (I5): never a miss
  stale,        // the fence does not match: another epoch or owner (I3)
  conflict,     // the record is in a state that does not allow this (already final, other content)
  not_found,    // no such record
  invalid,      // the input is wrong
};

struct Error {
  Errc code = Errc::unavailable;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }

  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

struct Done {};  // the value of a verb that only succeeds

}  // namespace onceward
