#include "store/sqlite/fair_mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ctrlplane::store {
namespace {

TEST(FairMutex, serves_in_the_order_of_arrival) {
  FairMutex mutex;
  std::vector<int> order;
  std::vector<std::thread> threads;
  mutex.lock();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::lock_guard hold(mutex);
      order.push_back(i);
    });
    while (mutex.waiting() < static_cast<uint64_t>(i) + 1) std::this_thread::yield();
  }
  mutex.unlock();
  mutex.lock();  // whoever comes back at once stands last
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
  mutex.unlock();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(mutex.waiting(), 0u);
}

}  // namespace
}  // namespace ctrlplane::store
