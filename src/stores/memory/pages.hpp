// Memory from the system, in huge pages where it is large enough for them.
#pragma once

#include <cstddef>

namespace onceward::memory {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Zeroed. From a huge page on it is aligned to one; throws std::bad_alloc.
char* map_pages(std::size_t bytes);

// So that the first write to the huge page finds it there.
void fault_in(char* page);

}  // namespace onceward::memory
