// Reading the public test data under tests/vectors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace onceward::test {

inline std::string read_vector(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The files of a folder of the vectors, sorted by name; fails the test when there are none.
inline std::vector<std::filesystem::path> vector_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ONCEWARD_VECTORS "/" + folder))
    files.push_back(entry.path());
  std::ranges::sort(files);
  EXPECT_FALSE(files.empty()) << folder;
  return files;
}

}  // namespace onceward::test
