// How the parts of bench_cel measure: medians of several rounds, and allocations.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

extern uint64_t g_allocations;  // count_allocations.cpp

namespace ctrlplane::bench {

template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

struct Measure {
  double ns = 0;
  double allocations = 0;
};

template <class F>
Measure measure(F f, double seconds = 0.15) {
  using Clock = std::chrono::steady_clock;
  uint64_t n = 1;
  auto time_of = [&](uint64_t times) {
    auto start = Clock::now();
    for (uint64_t i = 0; i < times; ++i) f();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  while (time_of(n) < 0.002 && n < (1ull << 40)) n *= 2;
  std::vector<double> rounds;
  uint64_t before = g_allocations, count = 0;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    rounds.push_back(time_of(n) / static_cast<double>(n));
    count += n;
  } while (Clock::now() < end);
  double allocations = static_cast<double>(g_allocations - before);
  std::nth_element(rounds.begin(), rounds.begin() + static_cast<long>(rounds.size() / 2), rounds.end());
  return {rounds[rounds.size() / 2] * 1e9, allocations / static_cast<double>(count)};
}

// Searches over 100,000 resources, with and without the index of src/state (index_bench.cpp).
void indexed_cases();

}  // namespace ctrlplane::bench
