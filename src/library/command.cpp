#include "library/command.hpp"

namespace onceward::api {

Outcome invalid_command(std::string message) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::invalid;
  outcome.message = std::move(message);
  return outcome;
}

std::shared_ptr<const Subject> subject_of(const Host& host, Command command) {
  auto subject = std::make_shared<Subject>();
  subject->operation = &host.operation_named(command.operation);
  subject->wait = command.wait.value_or(subject->operation->policy->in_progress.wait);
  subject->name = std::move(command.operation);
  subject->identity = {std::move(command.tenant), std::move(command.caller)};
  subject->key = std::move(command.key);
  subject->content_type = std::move(command.content_type);
  subject->body = std::move(command.payload);
  return subject;
}

std::optional<Outcome> refusal(const Command& command) {
  if (command.operation.empty()) return invalid_command("the operation has no name");
  if (command.key.empty()) return invalid_command("the key is empty");
  return std::nullopt;
}

}  // namespace onceward::api
