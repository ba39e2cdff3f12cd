// The two databases that commands run in, under one roof for tests: each a shop with a table of orders. A
// Counter is one connection; every thread and every process needs its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/ledger.hpp"
#include "onceward/transaction.hpp"

namespace onceward::testing {

class Counter {
 public:
  virtual ~Counter() = default;
  virtual api::Outcome run(const api::TransactionalCommands& commands, const api::Command& command,
                           const api::TransactionalCommands::Work& work) = 0;
  virtual api::Outcome consume(const api::TransactionalCommands& commands, const std::string& consumer,
                               const api::Message& message, const api::TransactionalCommands::Work& work) = 0;
  virtual std::unique_ptr<Ledger> ledger() = 0;
  // One statement; the first column of the first row, empty when there is none.
  virtual std::string sql(const std::string& text) = 0;
  // How long statements wait for another's lock.
  virtual void wait_at_most(Duration limit) = 0;
  // The types of the events that wait, in order.
  virtual std::string events() = 0;
  virtual int records() = 0;
  // Calls `moment` before every message to the server and after every one from it, until there is no
  // `moment` any more; false: it has no messages.
  virtual bool watch_messages(std::function<void()> moment) {
    (void)moment;
    return false;
  }

  void order(const std::string& item) { sql("INSERT INTO orders (item) VALUES ('" + item + "')"); }
  int orders() { return std::stoi(sql("SELECT count(*) FROM orders")); }
};

class Shop {
 public:
  virtual ~Shop() = default;
  virtual std::unique_ptr<Counter> open() = 0;
};

std::unique_ptr<Shop> sqlite_shop();    // in a folder of its own
std::unique_ptr<Shop> postgres_shop();  // of the server that tests/servers/with started; emptied

}  // namespace onceward::testing
