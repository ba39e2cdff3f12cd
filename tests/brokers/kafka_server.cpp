// librdkafka's mock cluster as a program, for tests of the real `onceward`: prints its address, then obeys
// one line at a time, words separated by tabs, and answers each with one line of JSON. It ends with its
// input.
//
//   topic NAME PARTITIONS
//   put TOPIC KEY ID BODY [HEADER VALUE]...
//   read TOPIC PARTITIONS      everything that is there, partition by partition
//   committed GROUP TOPIC      of the first partition
#include <iostream>
#include <sstream>

#include "base/json_text.hpp"
#include "brokers/kafka_cluster.hpp"
#include "messaging/brokers/kafka_publisher.hpp"

namespace onceward::messaging {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  Words words;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, '\t');) words.push_back(word);
  return words;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_of(const KafkaRead& message, int partition) {
  std::string headers;
  for (const auto& [name, value] : message.headers)
    headers += (headers.empty() ? "" : ",") + quoted(name) + ":" + quoted(value);
  return "{\"partition\":" + std::to_string(partition) + ",\"key\":" + quoted(message.key) +
         ",\"headers\":{" + headers + "},\"body\":" + quoted(message.body) + "}";
}

class Obeying {
 public:
  std::string servers() const { return cluster_.servers(); }
  std::string obey(const Words& words) {
    if (words.size() == 3 && words[0] == "topic") {
      cluster_.topic(words[1], std::stoi(words[2]));
      return "{}";
    }
    if (words.size() >= 5 && words[0] == "put") return put(words);
    if (words.size() == 3 && words[0] == "read") return read(words[1], std::stoi(words[2]));
    if (words.size() == 3 && words[0] == "committed")
      return std::to_string(cluster_.committed(words[1], words[2]));
    return R"({"error":"not understood"})";
  }

 private:
  std::string put(const Words& words) {
    const KafkaOptions options = *kafka_options(*parse_broker_url(cluster_.url(words[1])), {});
    OutMessage message{words[2], words[3], "", "", words[4], {}};
    for (std::size_t i = 5; i + 1 < words.size(); i += 2)
      message.headers.emplace_back(words[i], words[i + 1]);
    KafkaPublisher publisher(options, words[1]);
    const MonoTime deadline = std::chrono::steady_clock::now() + Duration(10'000);
    const SendResult sent = publisher.publish({&message, 1}, deadline)[0];
    return sent.verdict == SendVerdict::delivered ? "{}" : "{\"error\":" + quoted(sent.error) + "}";
  }
  std::string read(const std::string& topic, int partitions) {
    std::string out;
    for (int partition = 0; partition < partitions; ++partition) {
      const auto length = static_cast<std::size_t>(cluster_.length(topic, partition));
      for (const KafkaRead& message : cluster_.read(topic, length, partition))
        out += (out.empty() ? "" : ",") + json_of(message, partition);
    }
    return "[" + out + "]";
  }

  KafkaCluster cluster_;
};

}  // namespace
}  // namespace onceward::messaging

int main() {
  onceward::messaging::Obeying server;
  std::cout << server.servers() << std::endl;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << server.obey(onceward::messaging::words_of(line)) << std::endl;
}
