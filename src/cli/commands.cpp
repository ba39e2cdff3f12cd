#include "cli/commands.hpp"

namespace onceward::cli {

std::vector<Command> all_commands() {
  return {
      serve_command(run_serve), check_command(), demo_command(),    records_command(),
      outbox_command(),         call_command(),  consume_command(), verify_command(),
      bench_command(),          store_command(), version_command(), completion_command(),
  };
}

}  // namespace onceward::cli
