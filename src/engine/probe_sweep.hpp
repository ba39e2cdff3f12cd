// ProbeSweep: looks for records whose outcome is unknown and has the engine ask about those that are due.
// It finds also what became unknown on other machines, by a crash, or before this process began. Runs in
// the background of one worker, on its thread only.
#pragma once

#include <atomic>

#include "base/task.hpp"
#include "engine/engine.hpp"
#include "engine/prober.hpp"

namespace onceward {

class ProbeSweep {
 public:
  // At most so many questions of this sweep at a time.
  static constexpr std::size_t parallel_max = 16;

  ProbeSweep(Engine& engine, Store& store, Executor& executor, const Clock& clock, Prober& prober,
             EngineObserver* observer);

  // On the executor's thread. After stop() no new question is asked; is_idle() tells when the last has ended.
  void start() { arm(); }
  void stop();
  bool is_idle() const { return !passing_ && asking_ == 0; }

 private:
  struct Alarm : Timer {
    ProbeSweep* sweep = nullptr;
  };
  void arm();
  Task<> pass();
  Task<> look_at(Record record);
  Task<> ask(Record record, std::shared_ptr<const Policy> policy);

  Engine& engine_;
  Store& store_;
  Executor& executor_;
  const Clock& clock_;
  Prober& prober_;
  EngineObserver* const observer_;
  Alarm alarm_;
  bool stopped_ = false;
  MonoTime tidies_at_{};
  Duration pause_{250};  // before the next pass
  // Written on the executor's thread, read by whoever shuts down.
  std::atomic<bool> passing_{false};
  std::atomic<std::size_t> asking_{0};
};

}  // namespace onceward
