// The store's folder: who may use it. A marker file says that it is ours and in which format; a lock file
// is held while a process has it open. What is not ours is refused and left as it is. A damaged marker takes
// nothing away: the headers of the segments say the same.
#pragma once

#include <string>

#include "onceward/result.hpp"
#include "stores/embedded/file.hpp"

namespace onceward::embedded {

struct Entered {
  File lock;  // held as long as it is open
  bool marker_was_damaged = false;
};
// Makes the folder where there is none, takes the lock, checks or writes the marker.
Result<Entered> enter_folder(FileOps& ops, const std::string& folder);

// Whether the folder is ours, for looking without owning.
enum class Marker { whole, damaged };
Result<Marker> check_marker(FileOps& ops, const std::string& folder);

}  // namespace onceward::embedded
