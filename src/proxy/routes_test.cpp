#include "proxy/routes.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

struct MatchCase {
  const char* pattern;
  const char* method;
  const char* path;
  bool matches;
};

class RouteMatch : public testing::TestWithParam<MatchCase> {};

TEST_P(RouteMatch, FitsExactlyWhatThePatternSays) {
  const MatchCase& c = GetParam();
  const Result<RoutePattern> pattern = RoutePattern::parse(c.pattern);
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_EQ(pattern->matches(c.method, c.path), c.matches)
      << c.pattern << " on " << c.method << " " << c.path;
}

INSTANTIATE_TEST_SUITE_P(
    Table, RouteMatch,
    testing::Values(
        // literals
        MatchCase{"POST /payments", "POST", "/payments", true},
        MatchCase{"POST /payments", "PUT", "/payments", false},
        MatchCase{"POST /payments", "post", "/payments", false},
        MatchCase{"POST /payments", "POST", "/payments/", false},
        MatchCase{"POST /payments/", "POST", "/payments/", true},
        MatchCase{"POST /payments/", "POST", "/payments", false},
        MatchCase{"POST /payments", "POST", "/Payments", false},
        MatchCase{"POST /payments", "POST", "/payments/1", false},
        MatchCase{"POST /payments", "POST", "/payment", false},
        MatchCase{"POST /payments", "POST", "//payments", false}, MatchCase{"POST /", "POST", "/", true},
        MatchCase{"POST /", "POST", "/x", false}, MatchCase{"POST /", "POST", "", false},
        MatchCase{"POST /", "POST", "*", false}, MatchCase{"POST /a//b", "POST", "/a//b", true},
        MatchCase{"POST /a//b", "POST", "/a/b", false},
        // nothing is decoded
        MatchCase{"POST /a%2Fb", "POST", "/a%2Fb", true}, MatchCase{"POST /a%2Fb", "POST", "/a%2fb", false},
        MatchCase{"POST /a/b", "POST", "/a%2Fb", false},
        MatchCase{"POST /payments", "POST", "/%70ayments", false},
        MatchCase{"POST /a/b", "POST", "/a/./b", false}, MatchCase{"POST /b", "POST", "/a/../b", false},
        // colons are ordinary
        MatchCase{"POST /cases:bulkApprove", "POST", "/cases:bulkApprove", true},
        MatchCase{"POST /cases:bulkApprove", "POST", "/cases", false},
        // one segment
        MatchCase{"PUT /orders/{id}", "PUT", "/orders/1", true},
        MatchCase{"PUT /orders/{id}", "PUT", "/orders/a%2Fb", true},
        MatchCase{"PUT /orders/{id}", "PUT", "/orders/", false},
        MatchCase{"PUT /orders/{id}", "PUT", "/orders", false},
        MatchCase{"PUT /orders/{id}", "PUT", "/orders/1/2", false},
        MatchCase{"PUT /orders/{id}", "PUT", "/orders/1/", false},
        MatchCase{"PUT /orders/{id}/", "PUT", "/orders/1/", true},
        MatchCase{"PUT /{a}/x/{b}", "PUT", "/1/x/2", true},
        MatchCase{"PUT /{a}/x/{b}", "PUT", "/1/y/2", false}, MatchCase{"PUT /{a}", "PUT", "/", false},
        // the rest
        MatchCase{"POST /files/{path*}", "POST", "/files/a", true},
        MatchCase{"POST /files/{path*}", "POST", "/files/a/b/", true},
        MatchCase{"POST /files/{path*}", "POST", "/files//", true},
        MatchCase{"POST /files/{path*}", "POST", "/files/", false},
        MatchCase{"POST /files/{path*}", "POST", "/files", false},
        MatchCase{"* /{all*}", "DELETE", "/x", true}, MatchCase{"* /{all*}", "DELETE", "/", false},
        // any method
        MatchCase{"* /orders", "PATCH", "/orders", true}, MatchCase{"* /orders", "PATCH", "/order", false}));

struct BadCase {
  const char* pattern;
  const char* message;
};

class BadRoute : public testing::TestWithParam<BadCase> {};

TEST_P(BadRoute, IsRefusedWithAReason) {
  const Result<RoutePattern> pattern = RoutePattern::parse(GetParam().pattern);
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().code, Errc::invalid);
  EXPECT_EQ(pattern.error().message, GetParam().message);
}

constexpr const char* no_method = "expected METHOD /path, such as POST /orders";
constexpr const char* bad_characters =
    "the path may not contain spaces, a query, a fragment or bytes outside ASCII";
constexpr const char* bad_name = "a placeholder needs a name of letters, digits, '_' and '-'";
constexpr const char* partial = "a placeholder must be a whole segment, such as /orders/{id}";

INSTANTIATE_TEST_SUITE_P(
    Table, BadRoute,
    testing::Values(BadCase{"", no_method}, BadCase{"POST", no_method}, BadCase{"/orders", no_method},
                    BadCase{" /orders", "the method is not a valid HTTP method"},
                    BadCase{"PO,ST /orders", "the method is not a valid HTTP method"},
                    BadCase{"post /orders", "methods are case-sensitive: write the method in capitals"},
                    BadCase{"POST orders", "the path must begin with '/'"},
                    BadCase{"POST  /orders", "the path must begin with '/'"},
                    BadCase{"POST http://h/orders", "the path must begin with '/'"},
                    BadCase{"POST /a b", bad_characters}, BadCase{"POST /a?x=1", bad_characters},
                    BadCase{"POST /a#b", bad_characters}, BadCase{"POST /\xc3\xbc", bad_characters},
                    BadCase{"POST /a\tb", bad_characters}, BadCase{"POST /{}", bad_name},
                    BadCase{"POST /{*}", bad_name}, BadCase{"POST /{a b}", bad_characters},
                    BadCase{"POST /{a.b}", bad_name}, BadCase{"POST /{{a}}", bad_name},
                    BadCase{"POST /x{id}", partial}, BadCase{"POST /{id}x", partial},
                    BadCase{"POST /{id", partial}, BadCase{"POST /id}", partial},
                    BadCase{"POST /{a*}/b", "{a*} must be the last segment"},
                    BadCase{"POST /{a}/{a}", "the placeholder {a} appears twice"},
                    BadCase{"POST /{a}/{a*}", "the placeholder {a} appears twice"}));

TEST(Routes, TheFirstFittingEntryWins) {
  const Result<Routes> routes =
      Routes::compile({"POST /orders/special", "POST /orders/{id}", "* /orders/{id}"});
  ASSERT_TRUE(routes);
  EXPECT_EQ(routes->find("POST", "/orders/special"), 0u);
  EXPECT_EQ(routes->find("POST", "/orders/1"), 1u);
  EXPECT_EQ(routes->find("PUT", "/orders/special"), 2u);
  EXPECT_EQ(routes->find("POST", "/other"), std::nullopt);
}

TEST(Routes, AQueryIsNotPartOfThePath) {
  const Result<Routes> routes = Routes::compile({"POST /orders"});
  ASSERT_TRUE(routes);
  EXPECT_EQ(routes->find("POST", "/orders?a=/b"), 0u);
  EXPECT_EQ(routes->find("POST", "?/orders"), std::nullopt);
}

TEST(Routes, NoEntriesFitNothing) {
  const Result<Routes> routes = Routes::compile({});
  ASSERT_TRUE(routes);
  EXPECT_EQ(routes->find("POST", "/orders"), std::nullopt);
}

TEST(Routes, ABadPatternIsNamed) {
  const Result<Routes> routes = Routes::compile({"POST /a", "POST b"});
  ASSERT_FALSE(routes);
  EXPECT_EQ(routes.error().message, "POST b: the path must begin with '/'");
}

}  // namespace
}  // namespace onceward
