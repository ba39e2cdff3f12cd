// Memory from the system: the table's in huge pages, the records' in small ones.
#pragma once

#include <cstddef>

namespace onceward::memory {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Zeroed, for what is looked at all over the place. From a huge page on it is aligned to one. Throws
// std::bad_alloc, as the other does.
char* map_pages(std::size_t bytes);

// Zeroed, for what is filled from its beginning on: each small page is got when it is first written to. A
// huge one keeps a processor busy for milliseconds where the host of a virtual machine must find it first,
// and requests wait.
char* map_small_pages(std::size_t bytes);

}  // namespace onceward::memory
