// A few connections for calls that come from several threads. A lease waits while all are in use; a
// connection that comes back broken is dropped together with the idle ones, which the same restart of
// the server has broken too.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/postgres/connection.h"

namespace ctrlplane::store {

class PgPool {
 public:
  PgPool(std::string conninfo, const PostgresOptions& options)
      : conninfo_(std::move(conninfo)), options_(options) {}

  struct GiveBack {
    PgPool* pool;
    void operator()(PgConnection* c) const;
  };
  using Lease = std::unique_ptr<PgConnection, GiveBack>;
  Result<Lease> lease();

 private:
  const std::string conninfo_;
  const PostgresOptions options_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<PgConnection>> idle_;
  size_t in_use_ = 0;
};

}  // namespace ctrlplane::store
