#include "library/pending_work.hpp"

namespace onceward::api {

Task<onceward::Effect> PendingWork::execute(Grant grant) {
  auto delivery = std::make_shared<Delivery>(executor_);
  // The user's callback goes away as soon as it was called: what it holds is not ours to keep.
  Delivery::Awaiter handover(*delivery, [&] { std::exchange(start_, nullptr)(grant, delivery); });
  co_return co_await handover;
}

}  // namespace onceward::api
