#include "stores/postgres/session.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.hpp"
#include "net/address.hpp"
#include "net/worker.hpp"

namespace onceward::postgres {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string list;
  for (std::size_t i = 0; i < parts.size(); ++i) list += (i ? "," : "") + parts[i];
  return list;
}

// Every address of every host becomes a host of its own, so that libpq tries them all and looks up none.
ConnectionSettings with_addresses(ConnectionSettings settings) {
  if (settings.get("host").empty() || !settings.get("hostaddr").empty()) return settings;
  const std::vector<std::string> hosts = split(settings.get("host"));
  const std::vector<std::string> ports = split(settings.get("port"));
  std::vector<std::string> all_hosts, all_addresses, all_ports;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& port = ports.size() == hosts.size() ? ports[i] : ports.front();
    std::vector<std::string> addresses{""};  // a socket's folder, or a name that libpq may fail on itself
    if (!hosts[i].empty() && hosts[i][0] != '/') {
      if (const auto found = net::resolve_address(hosts[i], port.empty() ? "5432" : port, false)) {
        addresses.clear();
        for (const net::SocketAddress& address : *found) addresses.push_back(net::address_text(address));
      }
    }
    for (const std::string& address : addresses) {
      all_hosts.push_back(hosts[i]);
      all_addresses.push_back(address);
      all_ports.push_back(port);
    }
  }
  settings.set("host", joined(all_hosts));
  settings.set("hostaddr", joined(all_addresses));
  settings.set("port", joined(all_ports));
  return settings;
}

ConnectionPtr start(const ConnectionSettings& settings) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : settings.values) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return ConnectionPtr(PQconnectStartParams(keywords.data(), values.data(), 0));
}

}  // namespace

StopSignal::StopSignal() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ONCEWARD_ASSERT(descriptor_ >= 0);
}
StopSignal::~StopSignal() { ::close(descriptor_); }
void StopSignal::set() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}
bool StopSignal::is_set() const {
  pollfd descriptor{descriptor_, POLLIN, 0};
  return ::poll(&descriptor, 1, 0) == 1;
}

Error Session::error() const { return error_of({"", PQerrorMessage(connection_.get()), ""}); }

Result<Done> Session::wait(short events, MonoTime deadline) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - net::Worker::now()).count();
  pollfd descriptors[2] = {{PQsocket(connection_.get()), events, 0}, {stop_->descriptor(), POLLIN, 0}};
  const int ready = ::poll(descriptors, 2, static_cast<int>(std::clamp<long long>(left, 0, 600'000)));
  if (descriptors[1].revents) return Error{Errc::unavailable, "postgres: closing"};
  if (ready == 0) return Error{Errc::unavailable, "postgres: no answer in time"};
  return Done{};
}

Result<Session> Session::connect(const ConnectionSettings& settings, const StopSignal& stop,
                                 MonoTime deadline) {
  Session session(start(with_addresses(settings)), stop);
  PGconn* connection = session.get();
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  if (!connection || PQstatus(connection) == CONNECTION_BAD) return session.error();
  // The receiver that prints to stderr by default would put the server's words into our output.
  PQsetNoticeReceiver(connection, [](void*, const PGresult*) {}, nullptr);
  while (status != PGRES_POLLING_OK) {
    const short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (const Result<Done> ready = session.wait(events, deadline); !ready) return ready.error();
    status = PQconnectPoll(connection);
    if (status == PGRES_POLLING_FAILED) return session.error();
  }
  PQsetnonblocking(connection, 1);
  return session;
}

Result<ResultPtr> Session::run(const char* sql, MonoTime deadline) {
  if (PQsendQuery(get(), sql) != 1) return error();
  ResultPtr last;
  Result<Done> done = Done{};
  for (;;) {
    const int unsent = PQflush(get());
    if (unsent < 0) return error();
    if (unsent == 0 && PQisBusy(get()) == 0) {
      ResultPtr result(PQgetResult(get()));
      if (!result) break;
      const ExecStatusType status = PQresultStatus(result.get());
      if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && done)
        done = error_of(server_error(result.get()));
      last = std::move(result);
      continue;
    }
    if (Result<Done> ready = wait(unsent ? POLLIN | POLLOUT : POLLIN, deadline); !ready) return ready.error();
    if (PQconsumeInput(get()) != 1) return error();
  }
  if (!done) return done.error();
  return last;
}

Result<std::string> Session::value(const char* sql, MonoTime deadline) {
  const Result<ResultPtr> result = run(sql, deadline);
  if (!result) return result.error();
  if (!*result || PQntuples(result->get()) == 0 || PQgetisnull(result->get(), 0, 0)) return std::string();
  return std::string(PQgetvalue(result->get(), 0, 0));
}

Result<ConnectionPtr> Session::into_pipeline() {
  if (PQenterPipelineMode(get()) != 1) return error();
  return std::move(connection_);
}

}  // namespace onceward::postgres
