// The Lua scripts, one per verb, as text and by their SHA-1. The sources are the .lua files in scripts/;
// the build joins each with its prelude.
#pragma once

#include <string>

namespace onceward::redis {

struct Script {
  std::string source;
  std::string sha1;  // hex, what EVALSHA wants
};

struct Scripts {
  Script claim, dispatch, renew, complete, release, unknown, resolve, lookup, purge;
  Script settle_events, fetch_events, list_events, retry_events, outbox_stats, adopt, adopt_mark, lookup_mark;
};

const Scripts& scripts();

}  // namespace onceward::redis
