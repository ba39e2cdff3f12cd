#include "onceward/http.hpp"

#include <exception>
#include <variant>

#include "core/key.hpp"
#include "library/host.hpp"
#include "library/http_answer.hpp"
#include "library/http_text.hpp"
#include "library/meeting.hpp"
#include "library/pending_work.hpp"
#include "proxy/derived_key.hpp"
#include "proxy/prefer.hpp"

namespace onceward::api {
namespace {

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

// What is to be done with a request.
struct PassThrough {};
using Plan = std::variant<PassThrough, Problem, std::shared_ptr<const Subject>>;

// The end of a service's work, shared by the copies of its Respond. Dropped unused, nobody knows.
class Responding {
 public:
  Responding(std::shared_ptr<Delivery> delivery, std::shared_ptr<FirstAnswer> answer)
      : delivery_(std::move(delivery)), answer_(std::move(answer)) {}
  ~Responding() { delivery_->give(NoAnswer{{.cause = UnknownCause::declared}}); }
  Responding(const Responding&) = delete;
  Responding& operator=(const Responding&) = delete;

  void respond(HttpResponse response) {
    if (responded_.exchange(true)) return;
    delivery_->give(answer_->take(std::move(response)));
  }

 private:
  std::shared_ptr<Delivery> delivery_;
  std::shared_ptr<FirstAnswer> answer_;
  std::atomic<bool> responded_{false};
};

// As the service sees it: what only we may say is ours to say.
HttpRequest for_service(HttpRequest request, const Grant& grant) {
  std::erase_if(request.headers, [](const auto& header) {
    return http::same_name(header.first, "Onceward-Operation-Id") ||
           http::same_name(header.first, "Onceward-Epoch");
  });
  if (grant.epoch != 0) {
    request.headers.emplace_back("Onceward-Operation-Id", to_string(grant.operation_id));
    request.headers.emplace_back("Onceward-Epoch", std::to_string(grant.epoch));
  }
  return request;
}

}  // namespace

class HttpGuard::State {
 public:
  State(Host& host, HttpOptions options) : host_(host), options_(std::move(options)) {
    identity_.tenant = {IdentitySource::header, options_.tenant_header};
    identity_.tenant_required = options_.tenant_required;
    identity_.tenant_is_uuid = options_.tenant_is_uuid;
    if (options_.caller) identity_.caller = {IdentitySource::none, ""};
  }

  Plan plan(const HttpRequest& request) const {
    const http::RequestHead head = head_of(request);
    const Operation& operation = host_.rules().operation_of(head.method, head.path());
    const Policy& policy = *operation.policy;
    const bool observes = policy.mode == Mode::observe;
    if (is_safe(head.method) || policy.mode == Mode::off) return PassThrough{};
    const Result<std::optional<std::string>> key = key_of(head, request.body, policy.key);
    if (!key && observes) return PassThrough{};
    if (!key) return Problem{.code = ProblemCode::invalid_key};
    if (!*key && policy.key.required && !observes) return Problem{.code = ProblemCode::missing_key};
    if (!*key) return PassThrough{};
    auto identified = identify(identity_, head, {});
    if (const auto* refused = std::get_if<IdentityRefused>(&identified)) {
      if (observes) return PassThrough{};
      return Problem{.code = refused->code, .detail = refused->detail};
    }
    auto subject = std::make_shared<Subject>();
    subject->operation = &operation;
    subject->name = operation_name(operation, head.method, head.path());
    subject->identity = std::move(std::get<Identity>(identified));
    if (options_.caller) subject->identity.caller = options_.caller(request);
    subject->key = **key;
    subject->method = head.method;
    subject->path = head.path();
    subject->query = head.query();
    subject->content_type = head.headers.find("Content-Type").value_or("");
    subject->body = request.body;
    for (const std::string& wanted : policy.fingerprint.headers) {
      for (const std::string_view line : head.headers.lines(wanted))
        subject->headers.emplace_back(wanted, line);
    }
    subject->confirmed = head.headers.find("Onceward-Confirm") == "distinct";
    subject->wait = wait_limit(policy.in_progress, preferred_wait(head.headers));
    return std::shared_ptr<const Subject>(std::move(subject));
  }

  void run(HttpRequest request, const std::shared_ptr<const Subject>& subject, AsyncService service,
           Respond respond) const {
    onceward::Command command = host_.command_for(subject);
    const Operation& operation = *subject->operation;
    // Shared by the service's end and the answer's wording.
    auto answer = std::make_shared<FirstAnswer>(operation.policy, host_.options().max_response);
    auto work = std::make_shared<PendingWork>(
        host_.executor(), [service = std::move(service), request = std::move(request), answer](
                              const Grant& grant, std::shared_ptr<Delivery> delivery) {
          auto responding = std::make_shared<Responding>(std::move(delivery), answer);
          service(for_service(request, grant),
                  [responding](HttpResponse response) { responding->respond(std::move(response)); });
        });
    host_.start(command, std::move(work),
                [respond = std::move(respond), answer, policy = operation.policy,
                 info = command.request](onceward::Outcome outcome) {
                  respond(http_answer(std::move(outcome), *answer, *policy, info->leaves));
                });
  }

  bool on_own_thread() const { return host_.on_own_thread(); }

 private:
  static Result<std::optional<std::string>> key_of(const http::RequestHead& head, std::string_view body,
                                                   const KeyPolicy& policy) {
    if (derives_from_body(policy)) return derive_key(policy, body);
    const bool named = policy.from == KeySource::named_header;
    return key_from_lines(head.headers.lines(named ? policy.from_argument : policy.header), policy);
  }

  Host& host_;
  const HttpOptions options_;
  IdentityRules identity_;
};

HttpGuard::HttpGuard(Engine& engine, HttpOptions options)
    : state_(std::make_shared<const State>(*engine.host_, std::move(options))) {}
HttpGuard::~HttpGuard() = default;

void HttpGuard::handle(HttpRequest request, AsyncService service, Respond respond) {
  const Plan plan = state_->plan(request);
  if (const auto* problem = std::get_if<Problem>(&plan)) return respond(http_problem(*problem));
  if (std::holds_alternative<PassThrough>(plan)) {
    return service(
        for_service(std::move(request), {}),
        [respond = std::move(respond)](HttpResponse response) { respond(passed(std::move(response))); });
  }
  state_->run(std::move(request), std::get<2>(plan), std::move(service), std::move(respond));
}

HttpResponse HttpGuard::handle(const HttpRequest& request, const Service& service) {
  const Plan plan = state_->plan(request);
  if (const auto* problem = std::get_if<Problem>(&plan)) return http_problem(*problem);
  if (std::holds_alternative<PassThrough>(plan)) return passed(service(for_service(request, {})));
  if (state_->on_own_thread()) return http_problem({.code = ProblemCode::internal_error});

  using Handed = std::pair<HttpRequest, Respond>;
  auto meeting = std::make_shared<Meeting<Handed, HttpResponse>>();
  state_->run(
      request, std::get<2>(plan),
      [meeting](const HttpRequest& granted, Respond respond) {
        meeting->hand_over({granted, std::move(respond)});
      },
      [meeting](HttpResponse response) { meeting->tell(std::move(response)); });
  std::exception_ptr thrown;
  if (std::optional<Handed> handed = meeting->work()) {
    try {
      handed->second(service(handed->first));
    } catch (...) {
      thrown = std::current_exception();  // and the Respond goes away unused
    }
  }
  HttpResponse response = meeting->outcome();
  if (thrown) std::rethrow_exception(thrown);
  return response;
}

}  // namespace onceward::api
