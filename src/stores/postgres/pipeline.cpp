#include "stores/postgres/pipeline.hpp"

#include <poll.h>

#include "base/assert.hpp"

namespace onceward::postgres {
Pipeline::Pipeline(net::Worker& worker, ConnectionPtr connection, std::function<void(const Error&)> lost,
                   std::function<void(std::string_view)> notified)
    : worker_(worker),
      connection_(std::move(connection)),
      lost_(std::move(lost)),
      notified_(std::move(notified)) {
  deadline_.pipeline = this;
  deadline_.run = [](Timer* timer) {
    static_cast<Deadline*>(timer)->pipeline->break_off(
        {Errc::unavailable, "postgres: no answer in time; whether it was written is not known"});
  };
  PQsetNoticeReceiver(connection_.get(), &Pipeline::on_notice, this);
  worker_.loop().watch(PQsocket(connection_.get()), *this);
}

Pipeline::~Pipeline() {
  worker_.cancel(deadline_);
  worker_.loop().forget(*this);
  ReplyBatch batch;
  for (const std::unique_ptr<Errand>& errand : in_flight_) {
    errand->fail({Errc::unavailable, "postgres: the store was closed"});
    errand->finish(batch);
  }
}

void Pipeline::send(std::unique_ptr<Errand> errand) {
  const bool sent = errand->statement.send(connection_.get()) && PQpipelineSync(connection_.get()) == 1;
  in_flight_.push_back(std::move(errand));
  if (!sent) return break_off(error_of({"", PQerrorMessage(connection_.get()), ""}));
  if (in_flight_.size() == 1) arm();
  flush();
}

void Pipeline::flush() {
  // 1: the rest goes when the socket is writable again; that is an event.
  if (PQflush(connection_.get()) < 0) break_off(error_of({"", PQerrorMessage(connection_.get()), ""}));
}

void Pipeline::arm() {
  if (in_flight_.empty()) {
    worker_.cancel(deadline_);
  } else {
    worker_.arm(deadline_, in_flight_.front()->deadline);
  }
}

void Pipeline::on_event(std::uint32_t events) {
  if (broken_) return;
  if (events & EPOLLOUT) flush();
  if (!broken_ && (events & ~std::uint32_t{EPOLLOUT})) read();
}

bool Pipeline::has_input() const {
  pollfd descriptor{PQsocket(connection_.get()), POLLIN, 0};
  return ::poll(&descriptor, 1, 0) == 1;
}

void Pipeline::read() {
  ReplyBatch batch;
  do {  // readiness is told once: read until there is nothing left
    if (PQconsumeInput(connection_.get()) != 1) {
      take_results(batch);  // what arrived before the end still counts
      return break_off(error_of({"", PQerrorMessage(connection_.get()), ""}));
    }
    take_results(batch);
    take_notifications();
    if (broken_) return;
  } while (has_input());
  arm();
  if (leave_) break_off({Errc::unavailable, "postgres: the server is no primary any more"});
}

void Pipeline::take_results(ReplyBatch& batch) {
  while (!in_flight_.empty() && PQisBusy(connection_.get()) == 0) {
    ResultPtr result(PQgetResult(connection_.get()));
    if (result) take(std::move(result), batch);
    if (PQstatus(connection_.get()) == CONNECTION_BAD) return;
  }
}

void Pipeline::take(ResultPtr result, ReplyBatch& batch) {
  Errand& head = *in_flight_.front();
  switch (PQresultStatus(result.get())) {
    case PGRES_TUPLES_OK:
      head.answer(*result);
      return;
    case PGRES_PIPELINE_SYNC:
      if (head_unreplicated_ && !head_failed_)
        head.fail({Errc::unavailable, "postgres: committed without waiting for the synchronous standby"});
      head.finish(batch);
      in_flight_.pop_front();
      head_failed_ = head_unreplicated_ = false;
      return;
    default: {
      // Either before the rows, or after them when the commit itself failed: the error has the last word.
      const ServerError error = server_error(result.get());
      head.fail(error_of(error));
      head_failed_ = true;
      leave_ = leave_ || wants_another_server(error.sqlstate);
    }
  }
}

void Pipeline::take_notifications() {
  while (PGnotify* notification = PQnotifies(connection_.get())) {
    if (notified_) notified_(notification->extra);
    PQfreemem(notification);
  }
}

void Pipeline::on_notice(void* self, const PGresult* notice) {
  auto* pipeline = static_cast<Pipeline*>(self);
  if (!pipeline->in_flight_.empty() && is_unreplicated_commit(server_error(notice)))
    pipeline->head_unreplicated_ = true;
}

// Everything in flight may or may not have been committed (I10).
void Pipeline::break_off(Error error) {
  if (broken_) return;
  broken_ = true;
  worker_.cancel(deadline_);
  worker_.loop().forget(*this);
  connection_.reset();
  ReplyBatch batch;
  for (const std::unique_ptr<Errand>& errand : in_flight_) {
    errand->fail({Errc::unavailable, error.message});
    errand->finish(batch);
  }
  in_flight_.clear();
  batch.post();
  lost_(error);
}

}  // namespace onceward::postgres
