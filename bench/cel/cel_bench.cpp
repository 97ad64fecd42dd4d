// bench_cel: the usual reference expressions beside the same thing written by hand in C++, in one
// run, with the ratio and the allocations per evaluation. Medians of several rounds.
#include <algorithm>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/core.h>

#include "base/check.h"
#include "cel/cel.h"
#include "measure.h"

namespace {

using namespace ctrlplane;
using namespace ctrlplane::cel;
using bench::keep;
using bench::Measure;
using bench::measure;

void report(std::string_view name, const Measure& cel, const Measure& twin) {
  fmt::print("{:44} {:>12.1f} {:>12.1f} {:>8.1f} {:>8.2f}\n", name, cel.ns, twin.ns,
             cel.ns / std::max(twin.ns, 0.01), cel.allocations);
}

Program must_compile(const Env& env, std::string_view text) {
  auto p = compile(env, text);
  if (!p) fmt::print("{}: {}\n", text, p.error().message);
  CHECK(p.has_value());
  return std::move(*p);
}

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return hash_text(s); }
};
using Metadata = std::unordered_map<std::string, std::string, StringHash, std::equal_to<>>;

// How the engine shows its structs to expressions.
class MetadataObject final : public Object {
 public:
  explicit MetadataObject(const Metadata& map) : map_(map) {}
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
  const Metadata& map_;
};

struct Resource {
  std::string name, kind;
  Metadata metadata;
};

class ResourceObject final : public Object {
 public:
  explicit ResourceObject(const Resource& r) : resource_(r), metadata_(r.metadata) {}
  Value field(const Name& name, Arena&) const override {
    switch (name.index) {
      case 0: return Value::string(resource_.name);
      case 1: return Value::string(resource_.kind);
      case 2: return Value::map(metadata_);
      default: return Value();
    }
  }
  size_t size() const override { return 3; }
  void keys(std::span<std::string_view> out) const override {
    out[0] = "name", out[1] = "kind", out[2] = "metadata";
  }

 private:
  const Resource& resource_;
  MetadataObject metadata_;
};

// ---- expressions over plain texts and lists

struct Texts {
  std::string ip = "10.0.1.2", path = "/admin/edit", token = "admin", x = "value";
  std::vector<std::string> list = {"abc", "bcd", "cde", "def"};
};

constexpr std::string_view kPolicy =
    R"(!(ip in ["10.0.1.4", "10.0.1.5", "10.0.1.6"]) &&
      ((path.startsWith("v1") && token in ["v1", "v2", "admin"]) ||
       (path.startsWith("v2") && token in ["v2", "admin"]) ||
       (path.startsWith("/admin") && token == "admin" &&
        ip in ["10.0.1.1", "10.0.1.2", "10.0.1.3"])))";

bool policy_twin(const Texts& t) {
  auto in = [](std::string_view s, std::initializer_list<std::string_view> all) {
    return std::find(all.begin(), all.end(), s) != all.end();
  };
  return !in(t.ip, {"10.0.1.4", "10.0.1.5", "10.0.1.6"}) &&
         ((t.path.starts_with("v1") && in(t.token, {"v1", "v2", "admin"})) ||
          (t.path.starts_with("v2") && in(t.token, {"v2", "admin"})) ||
          (t.path.starts_with("/admin") && t.token == "admin" &&
           in(t.ip, {"10.0.1.1", "10.0.1.2", "10.0.1.3"})));
}

void text_cases() {
  Env env;
  for (std::string_view name : {"ip", "path", "token", "x"}) CHECK(env.declare(name, "string").has_value());
  CHECK(env.declare("list", "list(string)").has_value());
  Texts t;
  std::vector<Value> items;
  for (const std::string& s : t.list) items.push_back(Value::string(s));
  std::vector<Value> slots = {Value::string(t.ip), Value::string(t.path), Value::string(t.token),
                              Value::string(t.x), Value::list(items)};
  auto run = [&](std::string_view name, std::string_view text, auto twin) {
    Program p = must_compile(env, text);
    Arena check;
    CHECK(p.eval({slots}, check).as_bool() == twin(), text);
    report(name, measure([&] {
             Arena arena;
             keep(p.eval({slots}, arena).as_int());
           }),
           measure([&] {
             keep(t);
             keep(twin());
           }));
  };
  run("x == 'value'", "x == 'value'", [&] { return t.x == "value"; });
  run("x != 'value'", "x != 'value'", [&] { return t.x != "value"; });
  auto in_four = [&] { return t.x == "a" || t.x == "b" || t.x == "value" || t.x == "d"; };
  run("x in ['a', 'b', 'value', 'd']", "x in ['a', 'b', 'value', 'd']", in_four);
  run("'cde' in list", "'cde' in list",
      [&] { return std::find(t.list.begin(), t.list.end(), "cde") != t.list.end(); });
  auto any = [&](auto f) { return std::any_of(t.list.begin(), t.list.end(), f); };
  run("list.exists(e, e.contains('cd'))", "list.exists(e, e.contains('cd'))",
      [&] { return any([](const std::string& s) { return s.find("cd") != s.npos; }); });
  run("list.exists(e, e.startsWith('cd'))", "list.exists(e, e.startsWith('cd'))",
      [&] { return any([](const std::string& s) { return s.starts_with("cd"); }); });
  static const std::regex kPattern("cd*");
  run("list.exists(e, e.matches('cd*'))", "list.exists(e, e.matches('cd*'))",
      [&] { return any([](const std::string& s) { return std::regex_search(s, kPattern); }); });
  run("policy, three branches", kPolicy, [&] { return policy_twin(t); });
  Measure c = measure([&] { keep(compile(env, kPolicy).has_value()); });
  fmt::print("{:44} {:>12.1f} ns = {:.1f} us, {:.0f} allocations\n", "compile the policy", c.ns, c.ns / 1000,
             c.allocations);
  c = measure([&] { keep(compile(env, "x == 'value'").has_value()); });
  fmt::print("{:44} {:>12.1f} ns = {:.1f} us, {:.0f} allocations\n", "compile x == 'value'", c.ns,
             c.ns / 1000, c.allocations);
}

void list_case() {
  Env env;
  CHECK(env.declare("ints", "list(int)").has_value());
  std::vector<Value> items;
  std::vector<int64_t> plain;
  for (int64_t i = 0; i < 1000; ++i) items.push_back(Value::integer(i)), plain.push_back(i);
  Value slots[] = {Value::list(items)};
  Program p = must_compile(env, "ints.map(i, i * 2)");
  report("ints.map(i, i * 2) over 1,000", measure([&] {
           Arena arena;
           keep(p.eval({slots}, arena).items().size());
         }),
         measure([&] {
           std::vector<int64_t> out;
           out.reserve(plain.size());
           for (int64_t i : plain) out.push_back(i * 2);
           keep(out.data());
         }));
}

void resource_case() {
  Env env;
  CHECK(env.declare_struct("Resource",
                           {{"name", "string"}, {"kind", "string"}, {"metadata", "map(string, string)"}})
            .has_value());
  CHECK(env.declare("resource", "Resource").has_value());
  std::vector<Resource> resources(100000);
  for (size_t i = 0; i < resources.size(); ++i) {
    resources[i] = {fmt::format("r{}", i), "cluster", {}};
    resources[i].metadata["team"] = "core";
    resources[i].metadata["tier"] = i % 2 == 0 ? "1" : "2";
    if (i % 5 != 0) resources[i].metadata["region"] = i % 3 == 0 ? "eu-west-1" : "us-east-1";
  }
  std::vector<ResourceObject> objects(resources.begin(), resources.end());
  Program p = must_compile(env, "resource.metadata['region'] == 'eu-west-1'");
  size_t a = 0, b = 0;
  Measure cel = measure(
      [&] {
        a = 0;
        for (const ResourceObject& o : objects) {
          Value slots[] = {Value::map(o)};
          Arena arena;
          a += p.eval({slots}, arena).is_true();
        }
        keep(a);
      },
      0.5);
  Measure twin = measure(
      [&] {
        b = 0;
        for (const Resource& r : resources) {
          auto it = r.metadata.find(std::string_view("region"));
          b += it != r.metadata.end() && it->second == "eu-west-1";
        }
        keep(b);
      },
      0.5);
  CHECK(a == b);
  report("metadata['region'] == 'eu-west-1' x 100,000", cel, twin);
}

}  // namespace

int main() {
  fmt::print("{:44} {:>12} {:>12} {:>8} {:>8}\n", "expression", "cel ns", "c++ ns", "ratio", "allocs");
  text_cases();
  list_case();
  resource_case();
  bench::indexed_cases();
}
