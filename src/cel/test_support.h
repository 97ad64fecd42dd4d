// Shared by the tests of this module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cel/cel.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {

// A string map of the embedding program, as a Resource's metadata is.
class StringMap final : public Object {
 public:
  StringMap(std::initializer_list<std::pair<const std::string, std::string>> items) : map_(items) {}
  Value field(const Name& name, Arena&) const override {
    auto it = map_.find(name.text);
    return it == map_.end() ? Value() : Value::string(it->second);
  }
  size_t size() const override { return map_.size(); }
  void keys(std::span<std::string_view> out) const override {
    size_t i = 0;
    for (const auto& [key, value] : map_) out[i++] = key;
  }

 private:
  std::map<std::string, std::string, std::less<>> map_;
};

// A struct of the embedding program; field order as declared in resource_env().
class TestResource final : public Object {
 public:
  Value field(const Name& name, Arena&) const override {
    int32_t i = name.index;
    // Not known statically, as in resource[key].
    if (i < 0) i = name.text == "name" ? 0 : name.text == "kind" ? 1 : name.text == "metadata" ? 2 : -1;
    switch (i) {
      case 0: return Value::string(name_);
      case 1: return Value::string(kind);
      case 2: return Value::map(metadata);
      case 3: return Value::timestamp(created_at);
      case 4: return Value::null();
      default: return Value();
    }
  }
  size_t size() const override { return 5; }
  void keys(std::span<std::string_view> out) const override {
    out[0] = "name", out[1] = "kind", out[2] = "metadata", out[3] = "createdAt";
    out[4] = "providerId";
  }

  std::string name_ = "web-1";
  std::string kind = "Cluster";
  StringMap metadata = {{"region", "eu-west-1"}, {"tier", "1"}};
  Time created_at = *parse_rfc3339("2024-05-01T12:00:00Z");
};

inline Env resource_env() {
  Env env;
  auto declared = env.declare_struct("Resource", {{"name", "string"},
                                                  {"kind", "string"},
                                                  {"metadata", "map(string, string)"},
                                                  {"createdAt", "timestamp"},
                                                  {"providerId", "string"}});
  EXPECT_TRUE(declared.has_value());
  EXPECT_TRUE(env.declare("resource", "Resource").has_value());
  return env;
}

// The result as a literal: `3`, `"a"`, or `error missing_key 1:5`.
inline std::string eval_text(const Env& env, std::string_view text, std::vector<Value> slots = {},
                             CompileOptions options = {}) {
  auto program = compile(env, text, options);
  if (!program) return "invalid " + program.error().message;
  Arena arena;
  Value v = program->eval({slots}, arena);
  if (!v.is_error()) return literal_text(v);
  Position p = program->position(v);
  return "error " + std::string(to_string(v.fault())) + " " + std::to_string(p.line) + ":" +
         std::to_string(p.column);
}

inline std::string eval_text(std::string_view text) { return eval_text(Env(), text); }

}  // namespace ctrlplane::cel
