// cel_conformance DIR: runs the JSON cases of a folder (converted from the public CEL conformance
// suite) and ends with "N passed, M failed".
//
// The suite is written as text protobufs. Where a case's expected text kept an escape of that format
// (\u0100, \?) it is also compared with the escape resolved; such passes are counted apart.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cel/cel.h"
#include "cel/syntax/lexer.h"
#include "cel/value/compare.h"
#include "cel/value/text.h"
#include "cel/value/time_text.h"

namespace {

using namespace ctrlplane;
using namespace ctrlplane::cel;
namespace json = boost::json;

std::string_view view(const json::value& v) { return {v.as_string().data(), v.as_string().size()}; }

int64_t parse_int(std::string_view s) { return std::stoll(std::string(s)); }

double parse_double(std::string_view s) {
  if (s == "NaN") return std::nan("");
  if (s == "Infinity") return INFINITY;
  if (s == "-Infinity") return -INFINITY;
  return std::stod(std::string(s));
}

class ValueReader {
 public:
  explicit ValueReader(Context& ctx) : ctx_(ctx) {}

  Value read(const json::value& tagged) {
    const auto& [tag, v] = *tagged.as_object().begin();
    std::string_view t{tag.data(), tag.size()};
    if (t == "null") return Value::null();
    if (t == "bool") return Value::boolean(v.as_bool());
    if (t == "int") return Value::integer(parse_int(view(v)));
    if (t == "uint") return Value::unsigned_integer(std::stoull(std::string(view(v))));
    if (t == "double") return Value::real(parse_double(view(v)));
    if (t == "string") return ctx_.make_string(view(v));
    if (t == "bytes") return decode(view(v));
    if (t == "type") return Value::type(ctx_.make_string(view(v)).as_text());
    if (t == "timestamp") return parse_timestamp(view(v)).value();
    if (t == "duration") return Value::duration(parse_duration_nanos(view(v)).value());
    if (t == "list") return list(v.as_array());
    if (t == "map") return map(v.as_array());
    throw std::runtime_error("unknown tag " + std::string(t));
  }

 private:
  Value decode(std::string_view base64) {
    const FunctionEntry* f = standard_library().find("base64.decode", Style::kGlobal);
    Value text = ctx_.make_string(base64);
    return f->call(ctx_, {&text, 1});
  }
  Value list(const json::array& a) {
    Value* items = ctx_.arena.allocate_array<Value>(a.size());
    for (size_t i = 0; i < a.size(); ++i) items[i] = read(a[i]);
    return Value::list({items, a.size()});
  }
  Value map(const json::array& a) {
    MapBuilder m(ctx_, a.size());
    for (const json::value& pair : a) m.add(read(pair.at(0)), read(pair.at(1)));
    return m.build();
  }
  Context& ctx_;
};

// As in CEL, but values of different kinds never match and NaN matches NaN.
bool matches(Context& ctx, const Value& want, const Value& got) {
  if (want.kind() != got.kind()) return false;
  if (want.is(Kind::kDouble) && std::isnan(want.as_double())) return std::isnan(got.as_double());
  if (want.is(Kind::kDouble))
    return want.as_double() == got.as_double() &&
           std::signbit(want.as_double()) == std::signbit(got.as_double());
  if (want.is(Kind::kList)) {
    if (list_size(want) != list_size(got)) return false;
    for (size_t i = 0; i < list_size(want); ++i)
      if (!matches(ctx, list_at(ctx.arena, want, i), list_at(ctx.arena, got, i))) return false;
    return true;
  }
  if (want.is(Kind::kMap)) {
    if (map_size(want) != map_size(got)) return false;
    MapWalk wanted(ctx.arena, want), given(ctx.arena, got);
    for (size_t i = 0; i < wanted.size(); ++i) {
      Value found;
      for (size_t k = 0; k < given.size(); ++k)
        if (matches(ctx, wanted.key(i), given.key(k))) found = given.value(k);
      if (found.is_absent() || !matches(ctx, wanted.value(i), found)) return false;
    }
    return true;
  }
  return deep_equal(ctx, want, got);
}

bool matches_unescaped(const Value& want, const Value& got) {
  if (want.kind() != got.kind() || !(want.is(Kind::kString) || want.is(Kind::kBytes))) return false;
  std::string plain;
  EscapeError error;
  return unescape(want.as_text(), want.is(Kind::kBytes), plain, error) && plain == got.as_text();
}

struct Outcome {
  bool passed = false;
  bool by_escape = false;
  std::string why;
};

// A case's variables and functions; the values by slot.
std::string declare_all(Env& env, const json::object& test, ValueReader& reader, std::vector<Value>& slots) {
  auto declare = [&](std::string_view name, std::string_view type) {
    if (env.find_variable(name) >= 0) return std::string();
    auto slot = env.declare(name, type);
    return slot ? std::string() : slot.error().message;
  };
  if (auto* container = test.if_contains("container")) env.set_container(view(*container));
  if (auto* type_env = test.if_contains("typeEnv")) {
    for (const json::value& d : type_env->as_array()) {
      if (d.as_object().contains("ident")) {
        if (auto e = declare(view(d.at("ident")), view(d.at("type"))); !e.empty()) return e;
        continue;
      }
      for (const json::value& o : d.at("overloads").as_array()) {
        std::string signature;
        for (const json::value& p : o.at("params").as_array())
          signature += (signature.empty() ? "" : ", ") + std::string(view(p));
        signature += " -> " + std::string(view(o.at("result")));
        auto status = env.declare_function(
            view(d.at("function")), o.at("member").as_bool() ? Style::kMember : Style::kGlobal, signature);
        if (!status) return status.error().message;
      }
    }
  }
  auto* bindings = test.if_contains("bindings");
  if (bindings == nullptr) return {};
  for (const auto& [name, value] : bindings->as_object())
    if (auto e = declare({name.data(), name.size()}, "dyn"); !e.empty()) return e;
  slots.resize(env.variables().size());
  for (const auto& [name, value] : bindings->as_object()) {
    int32_t slot = env.find_variable({name.data(), name.size()});
    slots[static_cast<size_t>(slot)] = reader.read(value);
  }
  return {};
}

bool flag(const json::object& test, const char* name) {
  auto* v = test.if_contains(name);
  return v != nullptr && v->as_bool();
}

Outcome run_case(const json::object& test, bool fold) {
  Arena arena;
  Context ctx{arena, 1000000};
  ValueReader reader(ctx);
  Env env;
  std::vector<Value> slots;
  if (auto e = declare_all(env, test, reader, slots); !e.empty()) return {false, false, e};
  const json::object& expect = test.at("expect").as_object();
  bool wants_error = expect.contains("error");
  CompileOptions options{
      .check = !flag(test, "disableCheck"), .macros = !flag(test, "disableMacros"), .fold = fold};
  auto program = compile(env, view(test.at("expr")), options);
  if (!program) return {wants_error, false, "does not compile: " + program.error().message};
  if (auto* type = expect.if_contains("type"); type != nullptr && program->type() != view(*type))
    return {false, false, fmt::format("type {}, wanted {}", program->type(), view(*type))};
  if (flag(test, "checkOnly")) return {!wants_error, false, "checks, an error was wanted"};
  Value got = program->eval({slots}, arena);
  if (got.is_error()) return {wants_error, false, "error: " + program->describe(got)};
  if (wants_error) return {false, false, "got " + literal_text(got) + ", an error was wanted"};
  auto* wanted = expect.if_contains("value");
  Value want = wanted == nullptr ? Value::boolean(true) : reader.read(*wanted);
  if (matches(ctx, want, got)) return {true};
  if (matches_unescaped(want, got)) return {true, true};
  return {false, false, "got " + literal_text(got) + ", wanted " + literal_text(want)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: cel_conformance DIR\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  size_t passed = 0, failed = 0, by_escape = 0;
  for (const auto& path : files) {
    std::ifstream in(path);
    std::string text(std::istreambuf_iterator<char>(in), {});
    json::value file = json::parse(text, {}, {.max_depth = 200});
    for (const json::value& section : file.at("sections").as_array()) {
      for (const json::value& test : section.at("tests").as_array()) {
        // Folded and unfolded must both give the expected result.
        Outcome o = run_case(test.as_object(), true);
        if (Outcome plain = run_case(test.as_object(), false); o.passed && !plain.passed) o = plain;
        ++(o.passed ? passed : failed);
        by_escape += o.by_escape;
        if (o.passed) continue;
        fmt::print("FAIL {}/{}/{}: {}\n  {}\n", path.stem().string(), view(section.at("name")),
                   view(test.at("name")), view(test.at("expr")), o.why);
      }
    }
  }
  if (by_escape != 0) fmt::print("{} of them after resolving escapes left in the expected text\n", by_escape);
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
