// Session: a connection used one statement at a time by a thread that may wait, before it becomes a
// pipeline, or for the command line. Every wait has a deadline and ends early when told to stop.
#pragma once

#include <functional>
#include <string>

#include "onceward/result.hpp"
#include "stores/postgres/pipeline.hpp"
#include "stores/postgres/url.hpp"

namespace onceward::postgres {

// Ends waits of another thread: readable once set.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  void set() const;
  bool is_set() const;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

class Session {
 public:
  // Tries every address of every host in turn, each for as long as `timeout`, beginning with the one that
  // `first` says, and leaves there the one that answered: after a failover a dead host costs its time once.
  // May block in the look-up of names.
  static Result<Session> connect(const ConnectionSettings& settings, const StopSignal& stop, Duration timeout,
                                 std::size_t& first);

  // One or more statements without parameters; the rows of the last.
  Result<ResultPtr> run(const char* sql, MonoTime deadline);
  // The first column of the first row, empty when there is none.
  Result<std::string> value(const char* sql, MonoTime deadline);

  PGconn* get() const { return connection_.get(); }
  // Hands the connection over, in pipeline mode.
  Result<ConnectionPtr> into_pipeline();

 private:
  Session(ConnectionPtr connection, const StopSignal& stop)
      : connection_(std::move(connection)), stop_(&stop) {}
  static Result<Session> connect_to(const ConnectionSettings& place, const StopSignal& stop,
                                    MonoTime deadline);
  Result<Done> wait(short events, MonoTime deadline) const;
  Error error() const;

  ConnectionPtr connection_;
  const StopSignal* stop_;
};

}  // namespace onceward::postgres
