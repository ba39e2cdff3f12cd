// The failpoint store: another store behind the failpoints of its verbs. `before:error` never reaches the
// inner store, `after:error` loses the reply of what it did; both are Errc::unavailable, as a store behind
// a network would say it (I10). Callable from any thread, as the inner store is; only in test builds.
#pragma once

#include <memory>

#include "base/failpoint.hpp"
#include "onceward/store.hpp"

namespace onceward {

#ifdef ONCEWARD_FAILPOINTS

std::unique_ptr<Store> make_failpoint_store(std::unique_ptr<Store> inner);

#else

inline std::unique_ptr<Store> make_failpoint_store(std::unique_ptr<Store> inner) { return inner; }

#endif

}  // namespace onceward
