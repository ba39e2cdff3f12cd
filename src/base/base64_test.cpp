#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(Base64, AgreesWithThePublishedVectors) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, KeepsEveryByte) {
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
    EXPECT_EQ(from_base64(to_base64(all)), all);
    EXPECT_EQ(from_base64url(to_base64url(all)), all);
  }
}

TEST(Base64, RefusesWhatHasAnotherSpelling) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zm-v", "====", "=", "Z"})
    EXPECT_FALSE(from_base64(text)) << text;
  for (const char* text : {"Zg==", "Zh", "Z", "Zm+v", "Zm/v"}) EXPECT_FALSE(from_base64url(text)) << text;
}

}  // namespace
}  // namespace onceward
