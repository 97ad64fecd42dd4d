// What the stores share about job output: the form it is stored in, and how it is read.
#pragma once

#include <functional>

#include "store/sql.h"
#include "store/store.h"

namespace ctrlplane::store {

// No stored chunk is longer: it bounds what is kept beyond the halves, and how far before an offset the
// chunk can begin that covers it.
inline constexpr int64_t kOutputPiece = 64 * 1024;

// The chunks as they are stored: cut into pieces, none empty, one per job and offset (the last wins), by
// job and offset. kInvalid: an offset that is none.
Result<std::vector<OutputChunk>> output_pieces(std::span<const OutputChunk> chunks);

// Up to `rows` stored chunks with an offset above `after`, in order.
using OutputPage = std::function<Result<std::vector<OutputChunk>>(int64_t after, int64_t rows)>;
// Store::read_output over them.
Result<std::vector<OutputChunk>> collect_output(int64_t from, int64_t max_bytes, const OutputPage& page);

// Parameters: workspace, then job, offset and text of each row.
std::string append_output_sql(Dialect dialect, size_t rows);
// Parameters: workspace, job. Deletes what lies between the two halves.
std::string trim_output_sql(Dialect dialect);
// Parameters: workspace, job, after, rows. Columns: offset, text.
std::string read_output_sql(Dialect dialect);

}  // namespace ctrlplane::store
