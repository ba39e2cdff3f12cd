// What `onceward records …` does, apart from how its options are spelled. Each returns the exit code.
#pragma once

#include <optional>
#include <string>

#include "cli/api_client.hpp"

namespace onceward::cli {

struct RecordsOptions {
  ApiOptions api;
  bool json = false;
  std::string id;
  // list
  std::optional<std::string> state, operation, tenant, reference, older_than;
  std::size_t limit = 100;
  bool all = false;
  bool watch = false;
  // show
  bool reveal = false;
  // resolve, release, purge
  std::string as;
  std::string epoch;
  std::string reason;
  std::string response_file;
  bool force = false;
  std::optional<std::string> before;
};

int list_records(const RecordsOptions& options);
int watch_records(const RecordsOptions& options);
int show_record(const RecordsOptions& options);
int resolve_record(const RecordsOptions& options);
int release_record(const RecordsOptions& options);
int purge_records(const RecordsOptions& options);
int list_audit(const RecordsOptions& options);

}  // namespace onceward::cli
