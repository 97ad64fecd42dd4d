#include "base/clock.h"

#include <ctime>

namespace ctrlplane {
namespace {
int64_t read_us(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return ts.tv_sec * 1000000ll + ts.tv_nsec / 1000;
}
}  // namespace

Time SystemClock::wall() const { return {read_us(CLOCK_REALTIME)}; }
Duration SystemClock::boot() const { return {read_us(CLOCK_BOOTTIME)}; }

}  // namespace ctrlplane
