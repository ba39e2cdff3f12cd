#include "library/subject.hpp"

#include "base/assert.hpp"
#include "core/request_marks.hpp"
#include "core/scope.hpp"

namespace onceward::api {
namespace {

Result<FingerprintResult> print(const Subject& subject, std::uint16_t version, const Scope& scope) {
  std::vector<std::pair<std::string_view, std::string_view>> headers(subject.headers.begin(),
                                                                     subject.headers.end());
  const FingerprintInput input{.method = subject.method,
                               .operation = subject.name,
                               .path = subject.path,
                               .query = subject.query,
                               .content_type = subject.content_type,
                               .body = subject.body,
                               .headers = headers};
  return fingerprint(version, input, subject.operation->fingerprint, scope);
}

}  // namespace

onceward::Command command_for(std::shared_ptr<const Subject> subject, const std::string& key_prefix,
                              const std::string& secret) {
  const std::string key = key_prefix + subject->key;
  onceward::Command command;
  command.scope = scope_of(subject->identity.tenant, subject->identity.caller, subject->name, key, secret);
  Result<FingerprintResult> printed = print(*subject, fingerprint_version, command.scope);
  ONCEWARD_ASSERT(printed.has_value());
  command.fingerprint = printed->fingerprint;
  RequestInfo request;
  request.tenant = subject->identity.tenant.value_or("");
  request.operation = subject->name;
  request.key_hint = key_hint(subject->key, secret);
  request.leaves = std::move(printed->leaves);
  request.owner_tag = owner_tag(subject->identity, secret);
  request.reference = subject->reference;
  request.marks = marks_of(
      *subject->operation->policy,
      {subject->identity.tenant, subject->identity.caller, subject->name, subject->body, subject->confirmed},
      secret);
  command.request = std::make_shared<const RequestInfo>(std::move(request));
  command.policy = subject->operation->policy;
  command.wait = subject->wait;
  command.confirmed = subject->confirmed;
  command.fingerprint_as = [subject, scope = command.scope](std::uint16_t version) -> Result<Fingerprint> {
    Result<FingerprintResult> as_then = print(*subject, version, scope);
    if (!as_then) return as_then.error();
    return as_then->fingerprint;
  };
  return command;
}

}  // namespace onceward::api
