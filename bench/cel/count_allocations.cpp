// Replaces the global allocator by one that counts. A file of its own, so that the compiler does not
// see through it.
#include <cstdint>
#include <cstdlib>
#include <new>

uint64_t g_allocations = 0;

void* operator new(size_t n) {
  ++g_allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
