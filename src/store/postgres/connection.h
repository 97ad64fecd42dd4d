// libpq with owners, deadlines and errors as values. One thread at a time. A connection that failed in
// a way that leaves its state unknown is broken and must be thrown away; nothing reconnects by itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/row.h"

struct pg_conn;
struct pg_result;

namespace ctrlplane::store {

struct PostgresOptions {
  size_t pool = 4;  // connections for reads and acquisitions; commits and beats have their own
  // Below the lease (10 s): a statement that hangs must not outlive the owner that sent it for long.
  int statement_timeout_ms = 8000;
  int connect_timeout_s = 5;
};

// Parameters of one statement in binary form. Texts and ids are not copied: the cells must live until
// the statement has been sent.
class PgParams {
 public:
  void clear();
  void add(const CellView& cell, ColumnType type);
  void add(const Uuid& uuid);
  void add(int64_t value);
  void add_null(ColumnType type);

  int count() const { return static_cast<int>(types_.size()); }
  const unsigned* types() const { return types_.data(); }
  // Rebuilt from what was added; valid until the next call.
  const char* const* values() const;
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void push(const char* data, size_t size, ColumnType type);

  std::vector<unsigned> types_;
  std::vector<const char*> data_;  // null pointer: the n-th of ints_
  std::vector<bool> is_int_;
  std::vector<int64_t> ints_;  // in network order
  std::vector<int> lengths_, formats_;
  mutable std::vector<const char*> values_;
};

unsigned pg_type(ColumnType type);
// A value in binary form; `data` must live as long as the view is used.
CellView pg_cell(const char* data, size_t size, ColumnType type);

class PgResult {
 public:
  explicit PgResult(pg_result* r) : r_(r) {}

  int rows() const;
  CellView cell(int row, int column, ColumnType type) const;
  int64_t integer(int row, int column) const;  // 0 if it is NULL or no bigint
  Uuid uuid(int row, int column) const;
  std::string text(int row, int column) const;
  int64_t affected() const;
  pg_result* raw() const { return r_.get(); }

 private:
  struct Clear {
    void operator()(pg_result* r) const;
  };
  std::unique_ptr<pg_result, Clear> r_;
};

class PgConnection {
 public:
  // kUnavailable if nobody answers within the timeout.
  static Result<std::unique_ptr<PgConnection>> connect(const std::string& conninfo,
                                                       const PostgresOptions& options);

  // One statement, binary results. All errors are kUnavailable; the server's message is in them.
  Result<PgResult> exec(const std::string& sql, const PgParams& params = {});
  // Several statements without results, as one simple query. `patient`: no deadline on our side.
  Status script(const std::string& sql, bool patient = false);
  // COPY … TO STDOUT (FORMAT binary): `sink` gets each message. Streams with flat memory. If `sink`
  // fails the connection is broken, since the rest is still on its way.
  Status copy_out(const std::string& sql, const std::function<Status(std::string_view)>& sink);

  bool broken() const;
  void set_broken() { broken_ = true; }
  pg_conn* raw() const { return conn_.get(); }

  // Sends what the socket takes of what is queued. True: some is left. It may take in answers on the
  // way, so look for them (PQisBusy) between this and wait().
  Result<bool> flush();
  // Waits until the socket has something to read, or with `unsent` takes something, and reads it.
  // kUnavailable if nothing happens for the call timeout.
  Status wait(bool unsent);
  Error error(std::string_view doing) const;

  // How often the server has warned. At a commit that is its way to say that it stopped waiting for the
  // standby: the commit is there, but would not survive the loss of this server.
  int64_t warnings() const { return warnings_; }
  const std::string& last_warning() const { return last_warning_; }

 private:
  struct Finish {
    void operator()(pg_conn* c) const;
  };
  PgConnection(pg_conn* c, int call_timeout_ms) : conn_(c), call_timeout_ms_(call_timeout_ms) {}
  Result<PgResult> next_result(bool patient);  // null result: the statement is finished
  Result<PgResult> finish(std::string_view doing, bool patient);

  std::unique_ptr<pg_conn, Finish> conn_;
  int call_timeout_ms_;
  bool broken_ = false;
  int64_t warnings_ = 0;
  std::string last_warning_;
};

}  // namespace ctrlplane::store
