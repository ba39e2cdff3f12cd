// IntentRecord: what is kept of an intent, and its bytes in a file. A file is a chain of entries, each with
// its length and checksum; the last whole one counts. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "onceward/client.hpp"

namespace onceward::client {

struct IntentRecord {
  std::string name;
  std::string key;
  std::string request;    // digest of what is sent under this key; "" before the first send
  std::string identity;   // digest of who it was sent as
  bool in_doubt = false;  // written before the first byte leaves, taken back when provably none did
  std::optional<Outcome> end;
};

std::string encode_entry(const IntentRecord& record);

// The last whole entry of a file; nothing when there is none yet. An entry that was cut short was never
// acted upon, because the write that made it had not returned. One that is whole but wrong is damage
// (Errc::unreadable): guessing would mean a second key for one intent.
Result<std::optional<IntentRecord>> last_entry(std::string_view file);
// The bytes of the whole entries: what a new entry is to be written behind.
std::size_t whole_bytes(std::string_view file);

}  // namespace onceward::client
