// Likeness: nearly all records of one operation have the same tenant, owner, pointers and header lines, which
// is half of what they say. An encoding is packed as where it differs from a model, an earlier one that is
// kept as long as something packed needs it. Guarded by its shard's mutex.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward::memory {

class Likeness {
 public:
  // Encodings with the same `shape` are worth comparing: their parts begin at the same places.
  void pack(std::string_view encoding, std::uint64_t shape, std::string& packed);
  void unpack(std::string_view packed, std::string& encoding) const;
  void forget(std::string_view packed);  // before it is gone

  std::size_t bytes() const { return bytes_; }  // of models

  // What can be told of a packed encoding without its model; `packed` has its length itself.
  static std::size_t length_of(const char* packed);
  static Scope scope_of(const char* packed);

 private:
  struct Model {
    std::string encoding;  // empty: free
    std::uint64_t shape = 0;
    std::size_t users = 0;
  };
  static constexpr std::size_t models_max = 16;
  static constexpr std::size_t places_max = 4;  // where a shape's model may be

  Model* model_for(std::string_view encoding, std::uint64_t shape);
  void drop(Model& model);

  std::array<Model, models_max> models_;
  std::size_t bytes_ = 0;
};

}  // namespace onceward::memory
