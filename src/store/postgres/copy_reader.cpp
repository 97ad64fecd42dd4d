#include "store/postgres/copy_reader.h"

#include <cstring>

#include <fmt/core.h>

#include "store/postgres/connection.h"

namespace ctrlplane::store {
namespace {

constexpr std::string_view kSignature("PGCOPY\n\377\r\n\0", 11);

// Cuts a big-endian number off the front; false if there are too few bytes.
template <class T>
bool cut(std::string_view& rest, T& out) {
  if (rest.size() < sizeof(T)) return false;
  uint32_t v = 0;
  for (size_t i = 0; i < sizeof(T); ++i) v = v << 8 | static_cast<uint8_t>(rest[i]);
  out = static_cast<T>(v);
  rest.remove_prefix(sizeof(T));
  return true;
}

}  // namespace

CopyReader::CopyReader(const Table& table, const EntitySink& sink)
    : table_(table), index_(table_index(table)), sink_(sink), cells_(table.columns.size()) {}

Status CopyReader::take(std::string_view rest) {
  const auto damaged = [&] {
    return fail(ErrorCode::kInternal,
                fmt::format("PostgreSQL: a COPY of table {} cannot be read", table_.name));
  };
  if (!begun_) {
    int32_t flags, extension;
    if (!rest.starts_with(kSignature)) return damaged();
    rest.remove_prefix(kSignature.size());
    if (!cut(rest, flags) || !cut(rest, extension) || extension < 0 ||
        rest.size() < static_cast<size_t>(extension))
      return damaged();
    rest.remove_prefix(static_cast<size_t>(extension));
    begun_ = true;
  }
  while (!rest.empty()) {
    int16_t fields;
    if (!cut(rest, fields)) return damaged();
    if (fields == -1) return {};
    if (static_cast<size_t>(fields) != cells_.size()) return damaged();
    for (size_t i = 0; i < cells_.size(); ++i) {
      int32_t size;
      if (!cut(rest, size)) return damaged();
      if (size < 0) {
        cells_[i] = Null{};
        continue;
      }
      if (rest.size() < static_cast<size_t>(size)) return damaged();
      cells_[i] = pg_cell(rest.data(), static_cast<size_t>(size), table_.columns[i].type);
      rest.remove_prefix(static_cast<size_t>(size));
    }
    sink_(TRY(read_row(index_, cells_)));
  }
  return {};
}

}  // namespace ctrlplane::store
