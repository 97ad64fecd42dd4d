// The engine without a loop, a clock or a store around it, for benchmarks of decisions; and the time that a
// thread spends.
#pragma once

#include <time.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.h"
#include "engine/execute.h"
#include "engine/reconcile.h"

namespace ctrlplane::bench {

// The engine as the loop drives it, one transaction a unit.
class Core {
 public:
  Core(State& of, Time begin) : state(of), now(begin) {}

  State& state;
  Time now;
  Changes changes;  // since the last forget()

  Answer run(Command command, std::string actor = "system") {
    Tx tx = begin();
    return must(execute(tx, Request{std::move(command), std::move(actor)}));
  }
  // Does all that is to be done, and says how many units that was.
  size_t rest() {
    for (size_t units = 0;; ++units) {
      Tx tx = begin();
      if (!work(tx)) return units;
    }
  }
  void pass(Duration d) {
    now = now + d;
    for (bool more = true; more;) {
      Tx tx = begin();
      more = run_due_timers(tx, 64);
    }
    rest();
  }
  void forget() { changes.clear(); }

 private:
  Tx begin() {
    now = now + microseconds(1);
    return Tx(state, now, now - begun_, IdSource(now, mix64(++nonce_)), changes);
  }
  const Time begun_{now};
  uint64_t nonce_ = 0;
};

// In seconds: of this thread on a processor, and on the wall.
struct Spent {
  double cpu = 0, wall = 0;
  Spent& operator+=(const Spent& o) {
    cpu += o.cpu;
    wall += o.wall;
    return *this;
  }
};
class Meter {
 public:
  Spent spent() const { return {cpu() - start_, wall_.seconds()}; }

 private:
  static double cpu() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  double start_ = cpu();
  Stopwatch wall_;
};

inline double median(std::vector<double> samples) {
  std::ranges::sort(samples);
  return samples.empty() ? 0 : samples[samples.size() / 2];
}

inline Spent median(const std::vector<Spent>& samples) {
  std::vector<double> cpu, wall;
  for (const Spent& s : samples) {
    cpu.push_back(s.cpu);
    wall.push_back(s.wall);
  }
  return {median(std::move(cpu)), median(std::move(wall))};
}

}  // namespace ctrlplane::bench
