#include "proxy/rules.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(OperationName, is_the_configured_one_or_the_method_and_path_as_text) {
  Operation unnamed;
  EXPECT_EQ(operation_name(unnamed, "POST", "/orders/a%20b"), "POST /orders/a%20b");
  EXPECT_EQ(operation_name(unnamed, "PUT", "/caf\xc3\xa9/\xff\x80"), "PUT /caf%C3%A9/%FF%80");
  Operation named;
  named.name = "orders.create";
  EXPECT_EQ(operation_name(named, "POST", "/orders"), "orders.create");
}

}  // namespace
}  // namespace onceward
