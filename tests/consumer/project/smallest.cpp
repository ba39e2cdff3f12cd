// By way of pkg-config.
#include <onceward/engine.hpp>

int main() {
  auto engine = onceward::Engine::open({});
  if (!engine) return 1;
  onceward::Command command;
  command.operation = "greet";
  command.key = "k";
  const auto greet = [](const onceward::Ticket&) { return onceward::Effect::succeeded("hello"); };
  return engine->run(command, greet).ran && engine->run(command, greet).value == "hello" ? 0 : 1;
}
