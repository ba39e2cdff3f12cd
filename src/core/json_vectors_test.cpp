// The published JSON test data, through canonical JSON and fingerprints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/fingerprint.hpp"
#include "core/json_canonical.hpp"
#include "support/vectors.hpp"

namespace onceward {
namespace {

using testing::ElementsAre;

FingerprintResult fingerprint_of(const std::string& body) {
  return *fingerprint(fingerprint_version, {"POST", "op", "/", "", "application/json", body, {}}, {}, {});
}

bool canonicalises(const std::string& body, std::string& out) {
  std::vector<Leaf> leaves;
  return canonicalize_json(body, {}, {}, out, leaves);
}

TEST(JsonVectors, ValidTextsCanonicaliseInvalidOnesCountAsRawAndTheRestAreStable) {
  std::map<char, int> counts;
  for (const auto& file : test::vector_files("json-parsing/test_parsing")) {
    const std::string body = test::read_vector(file);
    const std::string name = file.filename();
    std::string first, second;
    const bool valid = canonicalises(body, first);
    EXPECT_EQ(valid, canonicalises(body, second)) << name;
    EXPECT_EQ(first, second) << name;
    ++counts[name[0]];
    // The suite calls duplicate members valid; for us they are ambiguous and count as raw (CONTRACT 3).
    if (name.starts_with("y_") && !name.starts_with("y_object_duplicated_key")) EXPECT_TRUE(valid) << name;
    if (name.starts_with("n_") || name.starts_with("y_object_duplicated_key")) EXPECT_FALSE(valid) << name;
  }
  EXPECT_GT(counts['y'], 90);
  EXPECT_GT(counts['n'], 180);
  EXPECT_GT(counts['i'], 30);
}

// Two of the texts are one object with its members in another order; every other pair differs, however
// a lenient parser would round or drop.
TEST(JsonVectors, NoTwoValuesGetOneFingerprintByRoundingOrDropping) {
  const auto files = test::vector_files("json-parsing/test_transform");
  for (const auto& left : files) {
    for (const auto& right : files) {
      const std::string names = left.filename().string() + " " + right.filename().string();
      const bool same = left == right || names == "object_key_nfc_nfd.json object_key_nfd_nfc.json" ||
                        names == "object_key_nfd_nfc.json object_key_nfc_nfd.json";
      const bool equal = fingerprint_of(test::read_vector(left)).fingerprint ==
                         fingerprint_of(test::read_vector(right)).fingerprint;
      EXPECT_EQ(equal, same) << names;
    }
  }
}

// RFC 8785 rounds numbers to doubles, which exact decimals do not: 333333333.33333329 is not
// 333333333.3333333. That one number is the only difference in all the files.
TEST(JsonVectors, CanonicalisedTextsHaveTheFingerprintOfTheirOriginal) {
  for (const auto& file : test::vector_files("json-canonical/input")) {
    const auto input = fingerprint_of(test::read_vector(file));
    const auto output =
        fingerprint_of(test::read_vector(file.parent_path().parent_path() / "output" / file.filename()));
    ASSERT_FALSE(input.leaves.empty()) << file;
    if (file.filename() == "values.json") {
      EXPECT_NE(input.fingerprint, output.fingerprint);
      EXPECT_THAT(changed_pointers(input.leaves, output.leaves), ElementsAre("/numbers/0"));
    } else {
      EXPECT_EQ(input.fingerprint, output.fingerprint) << file;
    }
  }
}

}  // namespace
}  // namespace onceward
