#include "messaging/brokers/kafka_options.hpp"

#include <algorithm>
#include <array>

namespace onceward::messaging {
namespace {

std::string servers(const BrokerUrl& url) {
  std::string text;
  for (const BrokerHost& host : url.hosts) {
    const bool v6 = host.host.find(':') != std::string::npos;
    text += (text.empty() ? "" : ",") + (v6 ? "[" + host.host + "]" : host.host);
    text += ":" + (host.port.empty() ? std::string("9092") : host.port);
  }
  return text;
}

}  // namespace

Result<KafkaOptions> kafka_options(const BrokerUrl& url, std::initializer_list<std::string_view> more) {
  BrokerUrl common = url;
  std::erase_if(common.options, [&](const auto& option) {
    return std::ranges::find(more, std::string_view(option.first)) != more.end();
  });
  if (Result<Done> known = common.only({"tls", "ca", "cert", "key", "verify", "mechanism"}); !known)
    return known.error();
  KafkaOptions options;
  options.topic = url.path;
  const net::ClientTls tls = url.tls();
  const bool use_tls = url.option("tls") == "true" || !tls.ca_file.empty() || !tls.cert.empty();
  const bool known = !url.user.empty();
  const std::string protocol = std::string(known ? "sasl_" : "") + (use_tls ? "ssl" : "plaintext");
  options.settings = {{"bootstrap.servers", servers(url)}, {"security.protocol", protocol}};
  if (known) {
    const std::string mechanism = url.option("mechanism").value_or("PLAIN");
    if (mechanism != "PLAIN" && mechanism != "SCRAM-SHA-256" && mechanism != "SCRAM-SHA-512")
      return Error{Errc::invalid, "kafka://: mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"};
    options.settings.emplace_back("sasl.mechanism", mechanism);
    options.settings.emplace_back("sasl.username", url.user);
    options.settings.emplace_back("sasl.password", url.password);
  }
  if (!tls.ca_file.empty()) options.settings.emplace_back("ssl.ca.location", tls.ca_file);
  if (!tls.cert.empty()) options.settings.emplace_back("ssl.certificate.location", tls.cert);
  if (!tls.key.empty()) options.settings.emplace_back("ssl.key.location", tls.key);
  if (!tls.verify) options.settings.emplace_back("enable.ssl.certificate.verification", "false");
  if (Result<KafkaConf> tried = kafka_conf(options.settings); !tried) return tried.error();
  return options;
}

Result<KafkaConf> kafka_conf(const std::vector<std::pair<std::string, std::string>>& settings) {
  KafkaConf conf(rd_kafka_conf_new());
  std::array<char, 512> why{};
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK)
      return Error{Errc::invalid, "kafka: " + std::string(why.data())};
  }
  // Its own words go to stderr, where a log of ours may be read line by line; what matters comes as errors.
  rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
  return conf;
}

Result<KafkaHandle> kafka_open(rd_kafka_type_t type, KafkaConf conf) {
  std::array<char, 512> why{};
  rd_kafka_t* handle = rd_kafka_new(type, conf.get(), why.data(), why.size());
  if (!handle) return Error{Errc::invalid, "kafka: " + std::string(why.data())};
  (void)conf.release();  // the handle's now
  return KafkaHandle(handle);
}

}  // namespace onceward::messaging
