#include "store/postgres/connection.h"

#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>
#include <libpq-fe.h>

namespace ctrlplane::store {
namespace {

std::string trimmed(const char* message) {
  std::string out = message ? message : "";
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

int64_t swapped(int64_t v) { return static_cast<int64_t>(__builtin_bswap64(static_cast<uint64_t>(v))); }

bool failed(const PGresult* r) {
  const ExecStatusType s = PQresultStatus(r);
  return s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK && s != PGRES_COPY_OUT;
}

}  // namespace

// ---- Values ----------------------------------------------------------------------------------------

unsigned pg_type(ColumnType type) {
  switch (type) {  // fixed numbers of the built-in types
    case ColumnType::kUuid: return 2950;
    case ColumnType::kInt: return 20;
    case ColumnType::kText: return 25;
    case ColumnType::kBytes: return 17;
  }
  return 0;
}

CellView pg_cell(const char* data, size_t size, ColumnType type) {
  if (type == ColumnType::kInt && size == 8) {
    int64_t v;
    std::memcpy(&v, data, 8);
    return swapped(v);
  }
  if (type == ColumnType::kUuid && size == 16) {
    Uuid u;
    std::memcpy(u.bytes.data(), data, 16);
    return u;
  }
  return std::string_view(data, size);
}

void PgParams::clear() {
  types_.clear();
  data_.clear();
  is_int_.clear();
  ints_.clear();
  lengths_.clear();
  formats_.clear();
}

void PgParams::push(const char* data, size_t size, ColumnType type) {
  types_.push_back(pg_type(type));
  data_.push_back(data);
  is_int_.push_back(false);
  lengths_.push_back(static_cast<int>(size));
  formats_.push_back(1);
}

void PgParams::add(const CellView& cell, ColumnType type) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return add(*i);
  if (const auto* u = std::get_if<Uuid>(&cell)) return add(*u);
  if (const auto* t = std::get_if<std::string_view>(&cell))
    return push(t->data() ? t->data() : "", t->size(), type);
  add_null(type);
}

void PgParams::add(const Uuid& uuid) {
  push(reinterpret_cast<const char*>(uuid.bytes.data()), 16, ColumnType::kUuid);
}

void PgParams::add(int64_t value) {
  push(nullptr, 8, ColumnType::kInt);
  is_int_.back() = true;
  ints_.push_back(swapped(value));
}

void PgParams::add_null(ColumnType type) { push(nullptr, 0, type); }

const char* const* PgParams::values() const {
  values_ = data_;
  size_t n = 0;
  for (size_t i = 0; i < values_.size(); ++i)
    if (is_int_[i]) values_[i] = reinterpret_cast<const char*>(&ints_[n++]);
  return values_.data();
}

// ---- Results ---------------------------------------------------------------------------------------

void PgResult::Clear::operator()(pg_result* r) const { PQclear(r); }

int PgResult::rows() const { return PQntuples(r_.get()); }

CellView PgResult::cell(int row, int column, ColumnType type) const {
  if (PQgetisnull(r_.get(), row, column)) return Null{};
  return pg_cell(PQgetvalue(r_.get(), row, column), static_cast<size_t>(PQgetlength(r_.get(), row, column)),
                 type);
}

int64_t PgResult::integer(int row, int column) const {
  const CellView c = cell(row, column, ColumnType::kInt);
  const auto* i = std::get_if<int64_t>(&c);
  return i ? *i : 0;
}

Uuid PgResult::uuid(int row, int column) const {
  const CellView c = cell(row, column, ColumnType::kUuid);
  const auto* u = std::get_if<Uuid>(&c);
  return u ? *u : Uuid{};
}

std::string PgResult::text(int row, int column) const {
  return {PQgetvalue(r_.get(), row, column), static_cast<size_t>(PQgetlength(r_.get(), row, column))};
}

int64_t PgResult::affected() const { return std::strtoll(PQcmdTuples(r_.get()), nullptr, 10); }

// ---- Connection ------------------------------------------------------------------------------------

void PgConnection::Finish::operator()(pg_conn* c) const { PQfinish(c); }

Result<std::unique_ptr<PgConnection>> PgConnection::connect(const std::string& conninfo,
                                                            const PostgresOptions& options) {
  const std::string connect_timeout = std::to_string(options.connect_timeout_s);
  const std::string user_timeout = std::to_string(options.statement_timeout_ms);
  // What the caller's conninfo says comes last and wins.
  const char* keys[] = {"fallback_application_name",
                        "connect_timeout",
                        "tcp_user_timeout",
                        "keepalives_idle",
                        "keepalives_interval",
                        "keepalives_count",
                        "client_encoding",
                        "dbname",
                        nullptr};
  const char* values[] = {
      "ctrlplane", connect_timeout.c_str(), user_timeout.c_str(), "3", "2", "3", "UTF8", conninfo.c_str(),
      nullptr};
  const int call_timeout_ms = options.statement_timeout_ms + 1000;
  std::unique_ptr<PgConnection> c(new PgConnection(PQconnectdbParams(keys, values, 1), call_timeout_ms));
  if (!c->raw() || PQstatus(c->raw()) != CONNECTION_OK) return std::unexpected(c->error("cannot connect"));
  auto warned = [](void* connection, const char* text) {
    auto* self = static_cast<PgConnection*>(connection);
    ++self->warnings_;
    self->last_warning_ = text;
  };
  PQsetNoticeProcessor(c->raw(), warned, c.get());
  PQsetnonblocking(c->raw(), 1);
  // JIT costs more than it gains on statements as plain as ours.
  TRY(
      c->script(fmt::format("SET statement_timeout = {0}; SET idle_in_transaction_session_timeout = {0}; "
                            "SET default_transaction_isolation = 'read committed'; "
                            "SET default_transaction_read_only = off; SET client_min_messages = warning; "
                            "SET jit = off",
                            options.statement_timeout_ms)));
  return c;
}

Error PgConnection::error(std::string_view doing) const {
  return {ErrorCode::kUnavailable,
          fmt::format("PostgreSQL: {}: {}", doing, trimmed(PQerrorMessage(conn_.get())))};
}

bool PgConnection::broken() const { return broken_ || PQstatus(conn_.get()) != CONNECTION_OK; }

Result<bool> PgConnection::flush() {
  const int unsent = PQflush(conn_.get());
  if (unsent < 0) return broken_ = true, std::unexpected(error("sending"));
  return unsent == 1;
}

Status PgConnection::wait(bool unsent) {
  // Both directions: a server that cannot get rid of its answers stops reading what we send.
  pollfd p{PQsocket(conn_.get()), static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), 0};
  int ready;
  do {
    ready = ::poll(&p, 1, call_timeout_ms_);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    broken_ = true;
    return fail(ErrorCode::kUnavailable, "PostgreSQL: no answer in time");
  }
  if ((p.revents & ~POLLOUT) && !PQconsumeInput(conn_.get()))
    return broken_ = true, std::unexpected(error("receiving"));
  return {};
}

Result<PgResult> PgConnection::next_result(bool patient) {
  while (true) {
    const bool unsent = TRY(flush());
    if (!PQisBusy(conn_.get())) return PgResult(PQgetResult(conn_.get()));
    Status done = wait(unsent);
    if (done) continue;
    if (!patient || PQstatus(conn_.get()) != CONNECTION_OK) return std::unexpected(done.error());
    broken_ = false;
  }
}

// Takes every result of the statement; the first error wins, else the last result.
Result<PgResult> PgConnection::finish(std::string_view doing, bool patient) {
  PgResult last(nullptr);
  std::optional<Error> problem;
  while (true) {
    PgResult r = TRY(next_result(patient));
    if (!r.raw()) break;
    if (failed(r.raw()) && !problem)
      problem = Error{ErrorCode::kUnavailable,
                      fmt::format("PostgreSQL: {}: {}", doing, trimmed(PQresultErrorMessage(r.raw())))};
    last = std::move(r);
    if (PQstatus(conn_.get()) != CONNECTION_OK) break;
  }
  if (problem) return std::unexpected(*problem);
  if (!last.raw()) return broken_ = true, std::unexpected(error(doing));
  return last;
}

Result<PgResult> PgConnection::exec(const std::string& sql, const PgParams& params) {
  if (!PQsendQueryParams(conn_.get(), sql.c_str(), params.count(), params.types(), params.values(),
                         params.lengths(), params.formats(), 1))
    return broken_ = true, std::unexpected(error("sending"));
  return finish("running a statement", false);
}

Status PgConnection::script(const std::string& sql, bool patient) {
  if (!PQsendQuery(conn_.get(), sql.c_str())) return broken_ = true, std::unexpected(error("sending"));
  TRY(finish("running a script", patient));
  return {};
}

Status PgConnection::copy_out(const std::string& sql, const std::function<Status(std::string_view)>& sink) {
  if (!PQsendQuery(conn_.get(), sql.c_str())) return broken_ = true, std::unexpected(error("sending"));
  PgResult begun = TRY(next_result(false));
  broken_ = true;  // until all of it is read
  if (PQresultStatus(begun.raw()) != PGRES_COPY_OUT) return std::unexpected(error("reading rows"));
  while (true) {
    char* data = nullptr;
    const int size = PQgetCopyData(conn_.get(), &data, 1);
    if (size == -1) break;
    if (size < 0) return std::unexpected(error("reading rows"));
    if (size == 0) {
      TRY(wait(false));
      continue;
    }
    std::unique_ptr<char, void (*)(void*)> owned(data, PQfreemem);
    TRY(sink({data, static_cast<size_t>(size)}));
  }
  broken_ = false;
  TRY(finish("reading rows", false));
  return {};
}

}  // namespace ctrlplane::store
