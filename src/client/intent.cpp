#include "client/intent_state.hpp"

namespace onceward::client {

Intent::Intent(std::unique_ptr<detail::IntentState> state) : state_(std::move(state)) {}
Intent::Intent(Intent&&) noexcept = default;
Intent& Intent::operator=(Intent&&) noexcept = default;
Intent::~Intent() = default;

const std::string& Intent::name() const { return state_->record.name; }
const std::string& Intent::key() const { return state_->record.key; }
bool Intent::in_doubt() const { return state_->record.in_doubt; }
const Outcome* Intent::end() const { return state_->record.end ? &*state_->record.end : nullptr; }

IntentStore::~IntentStore() = default;

}  // namespace onceward::client
