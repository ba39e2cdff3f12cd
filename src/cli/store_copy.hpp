// Copying every record of one store into another, and the marks that outlive them, and comparing. Works on
// any two stores through their verbs; runs on one worker, many records in flight. What a copy does to a
// record is decided by the target (Adopter), so that an interrupted copy is finished by running it again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "core/adoption.hpp"
#include "onceward/store.hpp"

namespace onceward::cli {

struct CopyCounts {
  std::uint64_t read = 0;             // records seen at the source
  std::uint64_t written = 0;          // copied
  std::uint64_t present = 0;          // as late or later at the target already
  std::uint64_t gone = 0;             // over between being listed and being read
  std::uint64_t held = 0;             // claimed or processing with a lease that lasts: someone may be at work
  std::uint64_t unreadable = 0;       // at the source, or at the target in their place
  std::uint64_t marks = 0;            // seen at the source, of those that may outlive their record
  std::uint64_t marks_written = 0;    // that had not come with their record
  std::uint64_t different = 0;        // found by comparing
  std::vector<std::string> examples;  // operation ids of some that are unreadable or different
};

using CopyProgress = std::function<void(const CopyCounts&)>;

// An error means that it stopped half-way; `counts` tell how far it came.
Task<Result<Done>> copy_store(Executor& executor, Store& from, Adopter& to, CopyCounts& counts,
                              CopyProgress progress);

// Whether the target has each record of the source, the same or later in its life.
Task<Result<Done>> compare_stores(Executor& executor, Store& from, Store& to, CopyCounts& counts,
                                  CopyProgress progress);

// A fact that has come true is remembered for as long as its rule says, whatever became of the record.
Task<Result<Done>> copy_marks(Executor& executor, Adopter& from, Adopter& to, CopyCounts& counts);

// Whether the target knows each of those, or something in its place that stands.
Task<Result<Done>> compare_marks(Executor& executor, Adopter& from, Adopter& to, CopyCounts& counts);

}  // namespace onceward::cli
