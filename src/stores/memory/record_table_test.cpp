#include "stores/memory/record_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "base/sha256.hpp"
#include "core/scope.hpp"

namespace onceward::memory::testing {
namespace {

Record record_of(std::uint32_t key, State state, std::size_t body_bytes) {
  Record record;
  record.scope = Scope{sha256(std::to_string(key))};
  record.operation_id = make_operation_id(record.scope, Timestamp{}, 1);
  record.epoch = key + 1;
  record.state = state;
  record.request = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "hint", {{"/a", key}}});
  if (is_final(state))
    record.response =
        std::make_shared<const Response>(Response{201, false, "X: y\r\n", std::string(body_bytes, 'b')});
  return record;
}

TEST(RecordTableTest, many_records_put_replaced_and_removed_in_any_order_are_found_as_a_map_would_find_them) {
  PackedMemory memory;
  CellArenas arenas;
  RecordTable::Shown shown;
  RecordTable table(memory, arenas, 0, shown);
  std::map<std::uint32_t, Record> expected;
  std::mt19937 random(7);
  for (int step = 0; step < 20'000; ++step) {
    const std::uint32_t key = random() % 700;
    const Record record =
        record_of(key, random() % 3 ? State::succeeded : State::processing, random() % 6000);
    if (random() % 3 == 0) {
      table.remove(record.scope);
      expected.erase(key);
    } else {
      table.put(Record(record));
      expected[key] = record;
    }
  }
  EXPECT_EQ(table.size(), expected.size());
  for (std::uint32_t key = 0; key < 700; ++key) {
    const Record probe = record_of(key, State::processing, 0);
    const RecordTable::Found found = table.find(probe.scope);
    const auto entry = expected.find(key);
    ASSERT_EQ(static_cast<bool>(found), entry != expected.end()) << key;
    if (!found) continue;
    EXPECT_EQ(found.get()->epoch, entry->second.epoch);
    EXPECT_EQ(found.get()->state, entry->second.state);
    EXPECT_EQ(*found.get()->request, *entry->second.request);
    EXPECT_EQ(found.get()->response != nullptr, entry->second.response != nullptr);
    if (found.get()->response) EXPECT_EQ(*found.get()->response, *entry->second.response);
  }
}

TEST(RecordTableTest, an_empty_table_holds_no_bytes_and_no_open_records) {
  PackedMemory memory;
  CellArenas arenas;
  RecordTable::Shown shown;
  RecordTable table(memory, arenas, 0, shown);
  for (std::uint32_t key = 0; key < 100; ++key)
    table.put(record_of(key, key % 2 ? State::failed : State::unknown, 10));
  EXPECT_EQ(table.open(), 50u);
  EXPECT_GT(table.bytes(), 100u * 100u);
  EXPECT_EQ(table.scopes().size(), 100u);
  for (const Scope& scope : table.scopes()) table.remove(scope);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.bytes(), 0u);
  EXPECT_EQ(table.open(), 0u);
}

TEST(PackedMemoryTest, what_was_given_back_is_taken_again_before_anything_new) {
  PackedMemory memory;
  char* first = memory.take(500);
  char* second = memory.take(500);
  EXPECT_NE(first, second);
  memory.give_back(first, 500);
  EXPECT_EQ(memory.take(510), first) << "the same room";
  memory.give_back(second, 500);
  EXPECT_NE(memory.take(400), second) << "another size";
}

TEST(PackedMemoryTest, blocks_of_all_sizes_do_not_overlap) {
  PackedMemory memory;
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::size_t bytes = 1; bytes < 9000; bytes += 7) {
    blocks.emplace_back(memory.take(bytes), bytes);
    std::fill_n(blocks.back().first, bytes, static_cast<char>(blocks.size()));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, bytes] = blocks[i];
    EXPECT_EQ(std::count(block, block + bytes, static_cast<char>(i + 1)), static_cast<std::ptrdiff_t>(bytes));
    memory.give_back(block, bytes);
  }
}

TEST(PackedMemoryTest, blocks_of_several_threads_and_many_chunks_do_not_overlap) {
  constexpr std::size_t bytes = 1000, each = 5000;  // so that chunks are made ahead while others are filled
  PackedMemory memory;
  std::array<std::vector<char*>, 2> blocks;
  {
    std::vector<std::jthread> threads;
    for (std::size_t who = 0; who < blocks.size(); ++who) {
      threads.emplace_back([&memory, &mine = blocks[who], mark = static_cast<char>('a' + who)] {
        for (std::size_t i = 0; i < each; ++i) {
          mine.push_back(memory.take(bytes));
          std::fill_n(mine.back(), bytes, mark);
        }
      });
    }
  }
  for (std::size_t who = 0; who < blocks.size(); ++who)
    for (const char* block : blocks[who])
      ASSERT_EQ(std::count(block, block + bytes, static_cast<char>('a' + who)), std::ptrdiff_t{bytes});
}

}  // namespace
}  // namespace onceward::memory::testing
