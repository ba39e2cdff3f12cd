// Public test data for request smuggling, run through the parser as raw bytes.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "http/body_decoder.hpp"
#include "http/chars.hpp"
#include "http/parser.hpp"

namespace onceward::http {
namespace {

std::vector<boost::json::object> read_vectors(const std::string& file) {
  std::ifstream in(std::string(ONCEWARD_VECTORS) + "/http-framing/" + file);
  std::vector<boost::json::object> vectors;
  for (std::string line; std::getline(in, line);) vectors.push_back(boost::json::parse(line).as_object());
  return vectors;
}

std::string text_of(const boost::json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : boost::json::serialize(value);
}

std::string render(const boost::json::object& vector) {
  std::string text = text_of(vector.at("method")) + " " + text_of(vector.at("uri"));
  if (const std::string version = text_of(vector.at("version")); !version.empty()) text += " " + version;
  text += "\r\n";
  bool host = false;
  if (vector.at("headers").is_array()) {
    for (const auto& header : vector.at("headers").as_array()) {
      const std::string name = text_of(header.at("name"));
      host = host || same_name(name, "Host");
      text += name + ": " + text_of(header.at("value")) + "\r\n";
    }
  }
  if (!host) text += "Host: example.com\r\n";
  return text + "\r\n";
}

TEST(FramingVectors, WhatCouldBeReadTwoWaysIsRefusedAndWhatIsCompliantIsNot) {
  const auto vectors = read_vectors("desync-guardian.jsonl");
  ASSERT_GT(vectors.size(), 100U);
  std::size_t accepted = 0;
  for (const auto& vector : vectors) {
    const std::string tier = text_of(vector.at("expected").at("tier"));
    const std::string text = render(vector);
    RequestHead head;
    const bool done = parse_request_head(text, head).status == HeadParse::Status::done;
    accepted += done ? 1 : 0;
    if (tier == "Severe" || tier == "Ambiguous") {
      EXPECT_FALSE(done) << text;
    }
    if (tier == "Compliant") {
      EXPECT_TRUE(done) << text;
    }
  }
  EXPECT_GT(accepted, 5U);
}

// True when every byte of the text belongs to a well-formed request, or one is refused or incomplete.
// What is accepted must say the same when it is read again.
void take_apart(std::string text, std::size_t& accepted) {
  for (int i = 0; i < 100 && !text.empty(); ++i) {
    RequestHead head;
    const HeadParse parse = parse_request_head(text, head);
    if (parse.status != HeadParse::Status::done) return;
    ++accepted;
    EXPECT_TRUE(head.method.find_first_of(" \t\r\n:") == head.method.npos);
    EXPECT_TRUE(head.target.starts_with('/') || head.target == "*") << head.target;
    EXPECT_LE(head.headers.count("Content-Length") + head.headers.count("Transfer-Encoding"), 1U);
    for (const HeaderView& field : head.headers)
      EXPECT_TRUE(field.value.find_first_of(std::string_view("\r\n\0", 3)) == field.value.npos);
    BodyDecoder decoder;
    decoder.reset(head.body);
    text.erase(0, parse.bytes);
    while (!decoder.ended()) {
      const BodyDecoder::Step step = decoder.next(text);
      text.erase(0, step.consumed);
      if (step.status == BodyDecoder::Step::Status::bad) return;
      if (step.status == BodyDecoder::Step::Status::need_more) return;
    }
  }
}

TEST(FramingVectors, EveryTextIsRefusedOrIsWellFormedRequests) {
  std::size_t accepted = 0;
  for (const auto& vector : read_vectors("llhttp.jsonl")) {
    const std::string text = text_of(vector.at("text"));
    take_apart(text, accepted);
    std::string with_crlf;
    for (char c : text) with_crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    take_apart(with_crlf, accepted);
  }
  EXPECT_GT(accepted, 10U);
}

}  // namespace
}  // namespace onceward::http
