// Rows out of a stream in PostgreSQL's binary COPY format: a signature, then per row the number of
// fields and each field with its length, then -1.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/row.h"
#include "store/store.h"

namespace ctrlplane::store {

class CopyReader {
 public:
  CopyReader(const Table& table, const EntitySink& sink);
  // Whole rows, as the server puts them into its messages. kInternal if the bytes do not fit.
  Status take(std::string_view message);

 private:
  const Table& table_;
  const size_t index_;
  const EntitySink& sink_;
  std::vector<CellView> cells_;
  bool begun_ = false;
};

}  // namespace ctrlplane::store
