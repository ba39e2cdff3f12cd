// Whatever a server, or somebody in its place, sends: it is read as replies or refused, and what one of them
// says of a record, of the slots or of a redirection is taken or refused.
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "core/transition.hpp"
#include "stores/redis/record_fields.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/server_facts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace onceward;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  redis::RespReader reader;
  // In two pieces, as a socket would bring them.
  reader.feed(bytes.substr(0, size / 2));
  for (int piece = 0; piece < 2; ++piece) {
    for (;;) {
      const Result<redis::RespReply> reply = reader.next();
      if (!reply) return 0;
      if (!*reply) break;
      (void)redis::redirect_of(**reply);
      redis::ServerFacts facts;
      redis::read_info(redis::text_of(**reply), facts);
      (void)redis::check_fit(facts);
      const Result<Record> record = redis::read_record(**reply, redis::Bodies::included);
      if (record) ONCEWARD_ASSERT(is_consistent(*record));
    }
    reader.feed(bytes.substr(size / 2));
  }
  return 0;
}
