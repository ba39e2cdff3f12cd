#include "library/command.hpp"

#include "core/operation_result.hpp"

namespace onceward::api {

Outcome invalid_command(std::string message) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::invalid;
  outcome.message = std::move(message);
  return outcome;
}

std::shared_ptr<const Subject> subject_of(const Operation& operation, Command command) {
  auto subject = std::make_shared<Subject>();
  subject->operation = &operation;
  subject->wait = command.wait.value_or(operation.policy->in_progress.wait);
  subject->name = std::move(command.operation);
  subject->identity = {std::move(command.tenant), std::move(command.caller)};
  subject->key = std::move(command.key);
  subject->content_type = std::move(command.content_type);
  subject->body = std::move(command.payload);
  subject->reference = std::move(command.reference);
  return subject;
}

std::shared_ptr<const Subject> subject_of(const Host& host, Command command) {
  const Operation& operation = host.operation_named(command.operation);
  return subject_of(operation, std::move(command));
}

std::optional<Outcome> refusal(const Command& command) {
  if (command.operation.empty()) return invalid_command("the operation has no name");
  if (command.key.empty()) return invalid_command("the key is empty");
  if (!command.reference.empty() && !is_showable(command.reference, reference_bytes_max))
    return invalid_command("the reference is longer than 255 bytes or has a control character");
  return std::nullopt;
}

}  // namespace onceward::api
