// What there is on a server, described once: where each kind of thing is found, what it is called by, and
// what a table shows of it. A new kind is one entry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.h"

namespace ctrlplane::cli {

enum class Format {
  kText,
  kStatus,  // in its colour
  kAge,     // an instant, as the time since
  kNames,   // an array of objects: their names
  kScope,   // of a version: which release targets it is for
};

struct Column {
  std::string_view title;
  std::string_view
      path;  // within an item as the list sends it, e.g. "deployment.name"; or the first of "a|b"
  Format format = Format::kText;
  bool wide = false;  // only with -o wide
};

enum class Where { kInstance, kWorkspace, kDeployment };
enum class Delete { kNever, kById, kByName };

struct Kind {
  std::string_view singular, plural;
  std::vector<std::string_view> aliases = {};
  Where where = Where::kWorkspace;
  std::string_view path;  // below where it lives
  std::string_view id = "id", name = "name";
  std::string_view items = "items";  // what the answer calls the list
  bool by_id = true;                 // path/{id} answers with one
  std::string_view id_suffix = {};   // behind that id
  std::string_view by_name = {};     // by_name/{name} answers with one
  std::string_view id_cel = {};      // what the list's `cel` compares with an id
  size_t searched = 0;               // how many of the list are looked through for an id's beginning; 0: all
  Delete deleted = Delete::kById;    // at path/{id} or by_name/{name}
  std::vector<Column> columns;
};

const std::vector<Kind>& kinds();
// By its singular form, which must exist.
const Kind& kind(std::string_view singular);
// By any of its names.
Outcome<const Kind*> kind_called(std::string_view word);

}  // namespace ctrlplane::cli
