#include "onceward/transaction.hpp"

#include <algorithm>

#include "base/system.hpp"
#include "engine/claim_request.hpp"
#include "factory/open_ledger.hpp"
#include "library/command.hpp"
#include "library/compile_operation.hpp"
#include "library/message_command.hpp"
#include "library/transaction_run.hpp"

namespace onceward::api {
struct TransactionalCommands::Parts {
  TransactionOptions options;
  Operation fallback;
  std::vector<Operation> operations;
  SystemClock clock;
  SystemRandom random;

  const Operation& operation_named(const std::string& name) const {
    const auto found =
        std::ranges::find_if(operations, [&](const Operation& one) { return one.name == name; });
    return found == operations.end() ? fallback : *found;
  }
};

Result<TransactionalCommands> TransactionalCommands::make(const TransactionOptions& options) {
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  Result<Operation> fallback = compile_operation("", "", options.defaults);
  if (!fallback) return fallback.error();
  parts->fallback = std::move(*fallback);
  for (const OperationPolicy& entry : options.operations) {
    Result<Operation> operation = compile_operation(entry.name, entry.match, entry.policy);
    if (!operation) return operation.error();
    const auto has_name = [&](const Operation& other) { return other.name == entry.name; };
    if (entry.name.empty() || std::ranges::any_of(parts->operations, has_name))
      return Error{Errc::invalid, "an operation has no name, or that of another: '" + entry.name + "'"};
    parts->operations.push_back(std::move(*operation));
  }
  return TransactionalCommands(std::move(parts));
}

TransactionalCommands::TransactionalCommands(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TransactionalCommands::TransactionalCommands(TransactionalCommands&&) noexcept = default;
TransactionalCommands& TransactionalCommands::operator=(TransactionalCommands&&) noexcept = default;
TransactionalCommands::~TransactionalCommands() = default;

Outcome TransactionalCommands::run_in(Ledger& ledger, const Command& command, const Work& work) const {
  if (std::optional<Outcome> refused = refusal(command)) return std::move(*refused);
  std::shared_ptr<const Subject> subject = subject_of(parts_->operation_named(command.operation), command);
  const onceward::Command order =
      command_for(std::move(subject), parts_->options.key_prefix, parts_->options.secret);
  const ClaimRequest claim = claim_request(order, State::processing, parts_->clock.now(), parts_->random);
  return run_in_transaction(ledger, order, claim, parts_->options.max_response, parts_->clock, work);
}

Outcome TransactionalCommands::run(::pg_conn* connection, const Command& command, const Work& work) const {
  return run_in(*open_ledger(connection), command, work);
}

Outcome TransactionalCommands::run(SqlConnection& connection, const Command& command,
                                   const Work& work) const {
  return run_in(*open_ledger(connection, parts_->clock), command, work);
}

Outcome TransactionalCommands::consume(::pg_conn* connection, const std::string& consumer,
                                       const Message& message, const Work& work) const {
  return run(connection, command_for_message(consumer, message), work);
}

Outcome TransactionalCommands::consume(SqlConnection& connection, const std::string& consumer,
                                       const Message& message, const Work& work) const {
  return run(connection, command_for_message(consumer, message), work);
}

Result<std::size_t> TransactionalCommands::drain(SqlConnection& connection, std::size_t limit,
                                                 const Deliver& deliver) const {
  return drain_outbox(connection, limit, deliver);
}

Result<std::size_t> TransactionalCommands::purge(SqlConnection& connection, std::size_t limit) const {
  return purge_records(connection, limit, parts_->clock);
}

}  // namespace onceward::api
