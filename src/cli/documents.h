// The documents that `apply -f` takes: what types there are, and files of them, read and checked.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/console.h"
#include "cli/failure.h"

namespace ctrlplane::cli {

enum class Shape {
  kText,
  kSelector,  // a text; absent, "" and "false" mean the same: nothing
  kDuration,  // sent as ISO 8601
  kTexts,     // a list of texts, none of them twice
  kTextMap,
  kInteger,
  kFlag,
  kObject,   // any JSON below
  kObjects,  // a list of them
};

struct DocumentMember {
  std::string_view name;
  Shape shape = Shape::kText;
  bool required = false;
  std::string_view wire = {};  // what the API calls it, if not the same
  bool reference = false;      // names of other documents or of what is on the server; not sent as it is

  std::string_view sent_as() const { return wire.empty() ? name : wire; }
};

struct DocumentType {
  std::string_view name;  // "System"
  std::string_view kind;  // "system", as in kinds.h
  std::string_view key;   // the member that says which one it is
  std::vector<DocumentMember> members;
};

// In the order in which they are applied.
const std::vector<DocumentType>& document_types();

struct Place {
  std::string file;
  int document = 0, line = 0;  // from 1
  std::string text() const;    // "shop.yaml, document 2, line 14"
};

struct Document {
  Document(const DocumentType& type, Place place);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  // What it is matched by; a version's is deployment@tag.
  std::string key() const;
  std::string title() const;  // "system/shop"
  std::string text(std::string_view member) const;
  std::vector<std::string> texts(std::string_view member) const;
  bool has(std::string_view member) const;

  const DocumentType* type;
  Place place;
  std::map<std::string, int, std::less<>> lines;  // of its members
  std::unique_ptr<boost::json::object> members;   // under their own names, not the API's
};

// Reads files, folders and "-" (standard input). All mistakes of all of them are in the failure. In the order
// in which they are applied; nothing is there twice.
Outcome<std::vector<Document>> read_documents(const std::vector<std::string>& paths, Console& console);

// Several mistakes as one failure, or the only one as it is.
Failure mistakes_failure(std::vector<std::string> mistakes);

}  // namespace ctrlplane::cli
