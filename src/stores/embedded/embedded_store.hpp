// The embedded store: one process, one folder, an append-only log with group commit. The default store
// of the proxy. docs/embedded-store.md describes files, rules and faults. Any thread may call it; it has
// three threads of its own: one begins segments and writes what callers cannot write themselves, one prepares
// and seals segments, one lists and purges.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "onceward/store.hpp"
#include "stores/embedded/file_ops.hpp"

namespace onceward::embedded {

enum class Durability {
  disk,     // a reply means synced: survives a power cut
  process,  // a reply means handed to the system: survives a crash of the process only
};

struct EmbeddedOptions {
  std::string dir;
  Durability durability = Durability::disk;
  const Clock* clock = nullptr;  // must outlive the store
  // As much again is kept in reserve for the outcomes of claims already made.
  std::uint64_t segment_bytes = 64ull << 20;
  FileOps* file_ops = nullptr;  // null: the system's
};

struct Health {
  bool ok = true;            // takes every verb
  bool takes_claims = true;  // false: no room for new claims
  bool purges = true;        // false: the clock has jumped and is not trusted yet
  std::string message;       // why not, or what else should be known
  Durability durability = Durability::disk;
};

// What is worth a metric besides StoreStats.
struct LogFigures {
  std::uint64_t bytes_written = 0;
  std::uint64_t batches = 0;
  std::uint64_t segments = 0;
  std::uint64_t filter_bytes = 0;  // in memory, for sealed records
  std::uint64_t filters = 0;       // that a new key asks
  bool spare_ready = false;        // the next segment is there: a whole one is reserved for outcomes
};

class EmbeddedStore : public Store {
 public:
  virtual Health health() const = 0;
  virtual LogFigures figures() const = 0;
};

// Errc::refused: the folder is another process's, not ours, read-only, or of a newer format; it is left
// as it is. Errc::unreadable: damage that would turn records into misses. The message says which.
Result<std::unique_ptr<EmbeddedStore>> open_embedded(const EmbeddedOptions& options);

}  // namespace onceward::embedded
