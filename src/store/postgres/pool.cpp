#include "store/postgres/pool.h"

namespace ctrlplane::store {

void PgPool::GiveBack::operator()(PgConnection* c) const {
  std::unique_ptr<PgConnection> owned(c);
  std::vector<std::unique_ptr<PgConnection>> dropped;  // closed after the lock is released
  std::lock_guard hold(pool->mutex_);
  if (owned->broken())
    dropped.swap(pool->idle_);
  else
    pool->idle_.push_back(std::move(owned));
  --pool->in_use_;
  pool->free_.notify_one();
}

Result<PgPool::Lease> PgPool::lease() {
  std::unique_lock hold(mutex_);
  free_.wait(hold, [&] { return in_use_ < options_.pool; });
  ++in_use_;
  if (!idle_.empty()) {
    Lease lease(idle_.back().release(), GiveBack{this});
    idle_.pop_back();
    return lease;
  }
  hold.unlock();  // connecting may take seconds; the others need not wait for it
  auto fresh = PgConnection::connect(conninfo_, options_);
  if (fresh) return Lease(fresh->release(), GiveBack{this});
  hold.lock();
  --in_use_;
  free_.notify_one();
  return std::unexpected(std::move(fresh).error());
}

}  // namespace ctrlplane::store
