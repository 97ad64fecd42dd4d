// A request's JSON object after it was checked against its shape: members are read by name, and their types
// are known to fit. A member that is absent or null reads as nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "base/time.h"
#include "base/uuid.h"
#include "model/json.h"
#include "model/metadata.h"

namespace ctrlplane::api {

class Body {
 public:
  Body() = default;
  explicit Body(const boost::json::object& object) : object_(&object) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string text(std::string_view name) const;  // "" if absent
  std::optional<std::string> maybe_text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise = false) const;
  std::optional<bool> maybe_flag(std::string_view name) const;
  std::optional<Time> time(std::string_view name) const;
  Metadata metadata(std::string_view name) const;
  // An object, canonical; {} if absent. kInvalid if it is nested too deep.
  Result<Json> document(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<Body> objects(std::string_view name) const;
  std::optional<Body> object(std::string_view name) const;
  std::vector<std::string> names() const;

  template <class T>
  std::optional<T> id(std::string_view name) const {
    auto text = maybe_text(name);
    return text ? T::parse(*text) : std::nullopt;
  }

 private:
  const boost::json::value* find(std::string_view name) const;
  const boost::json::object* object_ = nullptr;  // null: an empty one
};

}  // namespace ctrlplane::api
