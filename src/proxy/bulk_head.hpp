// BulkHead: what the requests of a bulk request's items say besides their items: the lines of the original
// that are true of each of them, copied, because items may be sent after their client has left. Immutable.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/exchange.hpp"
#include "http/upstream.hpp"
#include "onceward/executor.hpp"
#include "proxy/rules.hpp"
#include "proxy/upstream_work.hpp"

namespace onceward {

class BulkHead {
 public:
  BulkHead(const http::RequestHead& request, const http::PeerInfo& peer, const Rules& rules,
           const KeyPolicy& key, Random& random, bool with_token);
  BulkHead(const BulkHead&) = delete;
  BulkHead& operator=(const BulkHead&) = delete;

  const std::string& content_type() const { return content_type_; }

  // A header's is that of every item; a pointer leads into the item.
  std::string reference(const ReferenceRule& rule, std::string_view item) const;

  struct Item {
    std::string_view method;
    std::string_view target;
    std::string_view key;
  };
  void write(std::string& out, const Item& item, std::size_t body_bytes, const Grant& grant,
             const http::Upstream& upstream) const;

 private:
  http::HeaderList headers() const;  // views of the lines

  std::vector<std::pair<std::string, std::string>> lines_;
  std::string key_header_;
  std::string content_type_;
  std::string host_;
  std::string peer_address_;
  bool tls_ = false;
  bool with_token_ = false;  // the store lets a service finish its operation in a transaction of its own
};

// One item's, for the work that sends it.
class ItemHead final : public HeadWriter {
 public:
  ItemHead(const BulkHead& common, const BulkHead::Item& item, const http::Upstream& upstream)
      : common_(common), item_(item), upstream_(upstream) {}
  void write(std::string& head, std::size_t body_bytes, const Grant& grant) const override {
    common_.write(head, item_, body_bytes, grant, upstream_);
  }

 private:
  const BulkHead& common_;
  const BulkHead::Item item_;
  const http::Upstream& upstream_;
};

}  // namespace onceward
