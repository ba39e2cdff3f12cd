#include "client/intent_store.hpp"

namespace onceward::client {
namespace {

constexpr std::size_t name_bytes_max = 1024;

Result<std::string> checked(std::string_view name) {
  if (name.empty() || name.size() > name_bytes_max || name.find('\0') != std::string_view::npos)
    return Error{Errc::invalid, "the name of an intent has 1 to 1024 bytes"};
  return std::string(name);
}

}  // namespace

Error busy(std::string_view name) {
  return {Errc::conflict, "intent '" + std::string(name) + "' is being sent by somebody else right now"};
}

Result<Intent> KeptIntents::open(std::string_view name, const NewKey& key_if_new) {
  const Result<std::string> text = checked(name);
  if (!text) return text.error();
  auto state = take(*text);
  if (!state) return state.error();
  IntentRecord& record = (*state)->record;
  if (record.key.empty()) record = {.name = *text, .key = key_if_new.text(), .end = {}};
  return detail::IntentState::wrap(std::move(*state));
}

Result<Intent> KeptIntents::begin_anew(std::string_view name, const NewKey& key, bool although_in_doubt) {
  const Result<std::string> text = checked(name);
  if (!text) return text.error();
  auto state = take(*text);
  if (!state) return state.error();
  IntentRecord& record = (*state)->record;
  if (record.in_doubt && !although_in_doubt) {
    return Error{Errc::conflict,
                 "intent '" + *text +
                     "' may have happened: a new key could make it happen twice. Send it again "
                     "to learn what became of it"};
  }
  record = {.name = *text, .key = key.text(), .end = {}};
  return detail::IntentState::wrap(std::move(*state));
}

Result<Done> KeptIntents::forget(Intent intent) { return detail::IntentState::of(intent).remove(); }

}  // namespace onceward::client
