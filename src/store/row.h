// Rows as the stores see them: typed cells under a table's columns. What a row means is not known here.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "model/change.h"

namespace ctrlplane::store {

enum class ColumnType : uint8_t {
  kUuid,   // 16 bytes: BLOB in SQLite, uuid in PostgreSQL (digests too)
  kInt,    // 64 bits; times are microseconds since 1970, booleans 0 and 1
  kText,   // UTF-8 without NUL; JSON documents and enum words too
  kBytes,  // anything
};

struct Column {
  std::string_view name;
  ColumnType type;
  bool key = false;
};

using Null = std::monostate;
using Cell = std::variant<Null, int64_t, Uuid, std::string>;
using CellView = std::variant<Null, int64_t, Uuid, std::string_view>;

// Which rows of a table a workspace's loop needs in memory.
struct HotFilter {
  enum class Kind : uint8_t { kAll, kNone, kWhere, kOf } kind = Kind::kAll;
  std::string_view column = {};       // kWhere: this column ...
  std::vector<CellView> values = {};  // ... is one of these
  std::string_view table = {};  // kOf: the column is the id of a row of this table that is hot by kWhere
};

struct Table {
  std::string_view name;
  std::vector<Column> columns;  // keys first; without workspace_id, which every table has
  HotFilter hot;
  // Content addressed: a put of an existing key changes nothing but stored_at, and that only by more than
  // kPartFresh.
  bool write_once = false;

  size_t key_count() const;
  // Position of a column; aborts if there is none.
  size_t column(std::string_view name) const;
};

// One table per alternative of Entity, in its order.
const std::vector<Table>& tables();
const Table& table_of(const Entity& e);
const Table& table_named(std::string_view name);

template <class E>
const Table& table_for() {
  return table_of(Entity(std::in_place_type<E>));
}

// An entity's cells in column order. The views point into the entity or into this object, so both
// must outlive their use. Reusing one object for many rows saves the allocations.
class RowWriter {
 public:
  const std::vector<CellView>& write(const Entity& e);

 private:
  std::vector<CellView> cells_;
  std::deque<std::string> scratch_;
};

// The inverse. `cells` must have the table's columns; a row that does not fit (unknown enum word, wrong
// type, NULL where none may be) is kInternal and names table and column: somebody else wrote it.
Result<Entity> read_row(size_t table_index, const std::vector<CellView>& cells);
size_t table_index(const Table& table);

CellView view(const Cell& cell);
Cell own(const CellView& cell);

}  // namespace ctrlplane::store
