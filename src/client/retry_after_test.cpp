#include "client/retry_after.hpp"

#include <gtest/gtest.h>

namespace onceward::client {
namespace {

using namespace std::chrono_literals;

// Sun, 06 Nov 1994 08:49:37 GMT
constexpr Timestamp now{Duration{784'111'777'000}};

struct Case {
  std::string_view value;
  std::optional<Duration> wait;
};

class RetryAfter : public testing::TestWithParam<Case> {};

TEST_P(RetryAfter, IsSecondsOrADate) {
  EXPECT_EQ(parse_retry_after(GetParam().value, now), GetParam().wait) << GetParam().value;
}

INSTANTIATE_TEST_SUITE_P(
    Table, RetryAfter,
    testing::Values(Case{"0", 0ms}, Case{"1", 1s}, Case{" 120 ", 120s},
                    Case{"99999999999999999999999", std::chrono::hours(24 * 365)},
                    Case{"Sun, 06 Nov 1994 08:49:37 GMT", 0ms}, Case{"Sun, 06 Nov 1994 08:50:07 GMT", 30s},
                    Case{"Mon, 07 Nov 1994 08:49:37 GMT", 24h}, Case{"Sat, 05 Nov 1994 08:49:37 GMT", 0ms},
                    Case{"Thu, 31 Dec 9999 23:59:59 GMT", std::chrono::hours(24 * 365)},
                    Case{"Sun, 31 Feb 1994 08:49:37 GMT", {}}, Case{"Sun, 06 Nov 1994 24:49:37 GMT", {}},
                    Case{"Sun, 06 Nov 1994 08:49:37", {}}, Case{"Sun, 06 Xxx 1994 08:49:37 GMT", {}},
                    Case{"", {}}, Case{"-1", {}}, Case{"1.5", {}}, Case{"soon", {}}));

}  // namespace
}  // namespace onceward::client
