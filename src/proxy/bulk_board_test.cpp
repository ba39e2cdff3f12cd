#include "proxy/bulk_board.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

OperationId operation(std::uint8_t n) {
  OperationId id;
  id.data[0] = n;
  return id;
}

TEST(BulkBoard, shows_how_far_a_request_has_come_while_it_is_at_work) {
  BulkBoard board;
  EXPECT_FALSE(board.find(operation(1)));
  {
    BulkBoard::Entry entry(board, operation(1), 3);
    entry.item_ended(false);
    entry.item_ended(true);
    const std::optional<BulkProgress> progress = board.find(operation(1));
    ASSERT_TRUE(progress);
    EXPECT_EQ(progress->total, 3u);
    EXPECT_EQ(progress->done, 2u);
    EXPECT_EQ(progress->failed, 1u);
    EXPECT_FALSE(board.find(operation(2)));
  }
  EXPECT_FALSE(board.find(operation(1)));
}

TEST(BulkBoard, of_two_at_work_on_the_same_request_the_later_is_shown) {
  BulkBoard board;
  auto lost = std::make_unique<BulkBoard::Entry>(board, operation(1), 3);
  BulkBoard::Entry current(board, operation(1), 3);
  current.item_ended(false);
  EXPECT_EQ(board.find(operation(1))->done, 1u);
  lost.reset();
  EXPECT_EQ(board.find(operation(1))->done, 1u);
}

}  // namespace
}  // namespace onceward
