// ONCEWARD_ASSERT: a broken invariant ends the process, in release too. One condition each. Going on
// with a broken invariant could mean a second charge; a crash leaves the record to be held (I4).
#pragma once

namespace onceward {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}

#define ONCEWARD_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::onceward::assertion_failed(#condition, __FILE__, __LINE__))
