// The shapes of JSON documents, written in a compact notation and used twice: requests are checked against
// them, and openapi.json shows them. So the description cannot differ from what is enforced.
//
//   System  = { id: uuid, name: string(1..255), description?: string, metadata: map<string> }  # a comment
//   Page    = { items: [System], total: integer(0..) }
//   Status  = "ready" | "failed"
//   Richer  = System & { environments: [Environment] }
//
// Types: string, string(min..max), string(~pattern), uuid, datetime, integer, integer(min..max), number,
// number(min..max), boolean, object (any members), any, null, map<T>, [T], {members}, "word", Name, and
// alternatives with `|`. A member with `?` may be absent, or null, which means the same.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace ctrlplane::api {

struct Shape;
using ShapePtr = std::shared_ptr<const Shape>;  // shared by every shape that contains it

struct RecordMember {
  std::string name;
  ShapePtr shape;
  bool required = true;
};

struct Shape {
  enum class Kind {
    kString,
    kUuid,
    kDatetime,
    kInteger,
    kNumber,
    kBoolean,
    kObject,  // any members
    kAny,
    kNull,
    kMap,
    kArray,
    kRecord,
    kWord,
    kName,
    kEither,  // one of several
    kAll,     // several records as one
  };
  Kind kind = Kind::kAny;
  std::string text = {};  // a word, a name, or a pattern
  std::optional<double> least = {}, most = {};
  std::vector<RecordMember> members = {};
  std::vector<ShapePtr> parts = {};  // items, values, alternatives
};

// Named shapes. Parsing is total: the text is part of the program, so a mistake in it is a broken invariant.
class Shapes {
 public:
  explicit Shapes(std::string_view text);

  const Shape* find(std::string_view name) const;
  // A type in the notation, for a query parameter.
  ShapePtr type(std::string_view text) const;

  // What is wrong with `value`, at most a few; empty if it fits.
  std::vector<ErrorDetail> check(const Shape& shape, const boost::json::value& value) const;
  // As JSON Schema, names as references to `#/components/schemas/`.
  boost::json::object schema(const Shape& shape) const;
  boost::json::object schemas() const;

 private:
  std::map<std::string, ShapePtr, std::less<>> named_;
};

}  // namespace ctrlplane::api
