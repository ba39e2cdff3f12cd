// Any bytes are read as a record or called unreadable; what is read is written back as the same record.
#include <cstdlib>
#include <string>

#include "core/record_codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace onceward;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const Result<Record> record = decode_record(bytes)) {
    std::string again;
    encode_record(*record, again);
    const Result<Record> twice = decode_record(again);
    if (!twice || twice->scope != record->scope || twice->epoch != record->epoch) std::abort();
  } else if (record.error().code != Errc::unreadable) {
    std::abort();
  }
  return 0;
}
