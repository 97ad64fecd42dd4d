// The output of jobs in the SQLite store.
#include "store/output.h"
#include "store/sqlite/reading.h"
#include "store/sqlite/sqlite_store.h"

namespace ctrlplane::store {
namespace {

constexpr Dialect kDialect = Dialect::kSqlite;
constexpr size_t kBytesPerTransaction = 1 << 20;

}  // namespace

Status SqliteStore::append_output(WorkspaceId workspace, std::span<const OutputChunk> chunks) {
  WaitingOutput mine{workspace, TRY(output_pieces(chunks))};
  if (mine.pieces.empty()) return {};
  {
    std::lock_guard hold(output_mutex_);
    waiting_output_.push_back(&mine);
  }
  std::lock_guard hold(writing_);
  while (!mine.written) write_waiting_output();  // unless somebody before us has written it with theirs
  return *mine.written;
}

void SqliteStore::write_waiting_output() {
  std::vector<WaitingOutput*> batch;
  {
    std::lock_guard hold(output_mutex_);
    for (size_t bytes = 0; !waiting_output_.empty() && bytes < kBytesPerTransaction;) {
      batch.push_back(waiting_output_.front());
      waiting_output_.pop_front();
      for (const OutputChunk& piece : batch.back()->pieces) bytes += piece.text.size();
    }
  }
  const Status written = write([&]() -> Status {
    for (const WaitingOutput* output : batch) TRY(write_output(*output));
    return {};
  });
  for (WaitingOutput* output : batch) output->written = written;
}

Status SqliteStore::write_output(const WaitingOutput& output) {
  Statement& append = *TRY(writer_->prepare(append_output_sql(kDialect, 1)));
  Statement& trim = *TRY(writer_->prepare(trim_output_sql(kDialect)));
  for (size_t i = 0; i < output.pieces.size(); ++i) {
    const OutputChunk& piece = output.pieces[i];
    append.bind(1, output.workspace.uuid);
    append.bind(2, piece.job.uuid);
    append.bind(3, piece.offset);
    append.bind(4, std::string_view(piece.text), ColumnType::kBytes);
    TRY(append.run());
    if (i + 1 < output.pieces.size() && output.pieces[i + 1].job == piece.job) continue;
    trim.bind(1, output.workspace.uuid);
    trim.bind(2, piece.job.uuid);
    TRY(trim.run());
  }
  return {};
}

Result<std::vector<OutputChunk>> SqliteStore::read_output(WorkspaceId workspace, JobId job, int64_t from,
                                                          int64_t max_bytes) {
  Reader db = TRY(reader());
  Statement& s = *TRY(db->prepare(read_output_sql(kDialect)));
  return reading::output_of(s, workspace, job, from, max_bytes);
}

}  // namespace ctrlplane::store
