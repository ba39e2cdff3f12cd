// A segment begins with a filter of its own. When there are many, the supply's thread builds one table for a
// run of them from their index files, a segment at a time, so that a spare is never late because of it.
#include <algorithm>
#include <new>

#include "stores/embedded/scanned_index.hpp"
#include "stores/embedded/store_impl.hpp"

namespace onceward::embedded {

void StoreImpl::group_segments() {
  if (supply_.stopping()) return;
  if (!grouping_) {
    std::optional<SealedList::Run> run = sealed_list()->to_be_grouped();
    if (!run) return;
    try {
      auto table = std::make_shared<SegmentTable>(run->entries());
      grouping_ = Grouping{std::move(*run), std::move(table)};
    } catch (const std::bad_alloc&) {
      return;  // there is no memory for it now; the filters do
    }
  }
  if (grouping_->next < grouping_->run.segments.size()) {
    const std::size_t number = grouping_->next++;
    if (!add_prefixes(*grouping_->run.segments[number], number, *grouping_->table)) {
      grouping_.reset();  // it is tried again with the next segment; the filters stay until then
      return;
    }
  } else {
    const std::lock_guard change(list_mutex_);
    auto list = std::make_shared<SealedList>(*sealed_list());
    list->group(grouping_->run, std::move(grouping_->table));
    install(std::move(list));
    grouping_.reset();
  }
  supply_.run([this] { group_segments(); });
}

// False: not every record's place could be read, and a table without it would make it a miss (I5).
bool StoreImpl::add_prefixes(const Sealed& sealed, std::size_t number, SegmentTable& table) {
  IndexReader index(sealed);
  std::vector<std::uint64_t> prefixes;
  prefixes.reserve(sealed.index.summary().entries);
  for (std::size_t block = 0; block < sealed.index.blocks(); ++block) {
    const Result<std::vector<IndexEntry>> entries = index.block(block);
    if (!entries) return false;
    for (const IndexEntry& entry : *entries) prefixes.push_back(entry.prefix);
  }
  prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());  // they are in order
  if (prefixes.size() > sealed.index.summary().entries) return false;  // more than there is room for
  for (const std::uint64_t prefix : prefixes) table.add(prefix, number);
  return true;
}

}  // namespace onceward::embedded
