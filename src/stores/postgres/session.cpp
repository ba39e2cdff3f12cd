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

ConnectionSettings with_place(ConnectionSettings settings, const std::string& host,
                              const std::string& address, const std::string& port) {
  settings.set("host", host);
  settings.set("hostaddr", address);
  settings.set("port", port);
  return settings;
}

// One for every address of every host. libpq would look names up itself, blocking, and a host that is silent
// would take the time of all that follow it.
std::vector<ConnectionSettings> places(const ConnectionSettings& settings) {
  if (settings.get("host").empty() || !settings.get("hostaddr").empty()) return {settings};
  std::vector<ConnectionSettings> found;
  const std::vector<std::string> hosts = split(settings.get("host"));
  const std::vector<std::string> ports = split(settings.get("port"));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& port = ports.size() == hosts.size() ? ports[i] : ports.front();
    const bool is_socket = hosts[i].empty() || hosts[i][0] == '/';
    if (is_socket) {
      found.push_back(with_place(settings, hosts[i], "", port));
      continue;
    }
    const auto addresses = net::resolve_address(hosts[i], port.empty() ? "5432" : port, false);
    if (!addresses) continue;
    for (const net::SocketAddress& address : *addresses)
      found.push_back(with_place(settings, hosts[i], net::address_text(address), port));
  }
  return found;
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

Result<Session> Session::connect(const ConnectionSettings& settings, const StopSignal& stop, Duration timeout,
                                 std::size_t& first) {
  const std::vector<ConnectionSettings> all = places(settings);
  Error last{Errc::unavailable, "postgres: no address found for " + settings.get("host")};
  for (std::size_t i = 0; i < all.size() && !stop.is_set(); ++i) {
    const std::size_t at = (first + i) % all.size();
    Result<Session> session = connect_to(all[at], stop, net::Worker::now() + timeout);
    if (session) {
      first = at;
      return session;
    }
    last = session.error();
  }
  return last;
}

Result<Session> Session::connect_to(const ConnectionSettings& place, const StopSignal& stop,
                                    MonoTime deadline) {
  Session session(start(place), stop);
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
