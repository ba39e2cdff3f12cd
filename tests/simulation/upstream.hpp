// Upstream: the service behind the engines, with a book of every effect it had. It loses requests and
// answers, is slow, answers half, and answers with every class of status. For `forward` operations it
// fences by epoch and deduplicates by operation, as CONTRACT 1 asks of it.
#pragma once

#include <map>
#include <memory>

#include "simulation/judge.hpp"
#include "simulation/wire.hpp"

namespace onceward::simulation {

class Upstream {
 public:
  Upstream(World& world, Judge& judge) : world_(world), judge_(judge) {}

  void send(const Identity& who, const Grant& grant, const std::shared_ptr<Wire>& wire);
  // Whether a request of this operation may still arrive.
  bool expects(const OperationId& operation) const;

 private:
  struct Seen {
    int on_the_way = 0;
    Epoch highest = 0;
    std::shared_ptr<const Response> outcome;  // what a deduplicating upstream answers again
  };

  void arrives(const Identity& who, const Grant& grant, const std::shared_ptr<Wire>& wire);
  std::shared_ptr<const Response> process(const Identity& who, const Grant& grant, Seen& seen);
  int draw_status();

  World& world_;
  Judge& judge_;
  std::map<OperationId, Seen> seen_;
  std::uint64_t answers_ = 0;
};

}  // namespace onceward::simulation
