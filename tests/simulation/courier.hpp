// Courier: the work of one call. It takes the request to the upstream and waits for what comes back.
#pragma once

#include "engine/work.hpp"
#include "simulation/process.hpp"
#include "simulation/upstream.hpp"

namespace onceward::simulation {

class Courier final : public Work {
 public:
  Courier(Judge& judge, Upstream& upstream, std::shared_ptr<Life> life, std::shared_ptr<Call> call,
          Duration timeout)
      : judge_(judge),
        upstream_(upstream),
        life_(std::move(life)),
        world_(life_->world),
        call_(std::move(call)),
        timeout_(timeout) {}

  bool ready() override;
  Task<Result<Done>> prepare() override;
  void stand_down() override {}
  Task<Effect> execute(Grant grant) override;
  Task<std::optional<Answer>> late() override;

 private:
  void send(const Grant& grant);
  Effect understand(const std::optional<Arrival>& arrival) const;

  Judge& judge_;
  Upstream& upstream_;
  const std::shared_ptr<Life> life_;
  World& world_;
  const std::shared_ptr<Call> call_;
  const Duration timeout_;
  Grant grant_;
  std::shared_ptr<Wire> wire_;
  bool sent_early_ = false;
};

}  // namespace onceward::simulation
