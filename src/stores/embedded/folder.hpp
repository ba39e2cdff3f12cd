// The store's folder: who may use it. A marker file says that it is ours and in which format; a lock file
// is held while a process has it open. What is not ours is refused and left as it is.
#pragma once

#include <string>

#include "onceward/result.hpp"
#include "stores/embedded/file.hpp"

namespace onceward::embedded {

// Makes the folder where there is none, takes the lock, checks or writes the marker. The returned file
// holds the lock.
Result<File> enter_folder(FileOps& ops, const std::string& folder);

// Checks the marker only, for looking without owning.
Result<Done> check_marker(FileOps& ops, const std::string& folder);

}  // namespace onceward::embedded
