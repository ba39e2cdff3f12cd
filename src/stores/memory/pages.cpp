#include "stores/memory/pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace onceward::memory {
namespace {

char* map(std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(mapped);
}

}  // namespace

char* map_pages(std::size_t bytes) {
  if (bytes < huge_page) return map(bytes);
  // A huge page must begin at a multiple of its size: more is mapped than needed and the ends are cut off.
  char* mapped = map(bytes + huge_page);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(mapped) % huge_page) % huge_page;
  if (before != 0) ::munmap(mapped, before);
  char* aligned = mapped + before;
  ::munmap(aligned + bytes, huge_page - before);
  ::madvise(aligned, bytes, MADV_HUGEPAGE);  // only a wish: without it everything works the same
  return aligned;
}

char* map_small_pages(std::size_t bytes) {
  char* mapped = map(bytes);
  ::madvise(mapped, bytes, MADV_NOHUGEPAGE);  // a wish, too
  return mapped;
}

}  // namespace onceward::memory
