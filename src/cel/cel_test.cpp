#include "cel/cel.h"

#include <thread>

#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

std::string on_resource(std::string_view text) {
  TestResource r;
  return eval_text(resource_env(), text, {Value::map(r)});
}

std::string complaint(std::string_view text) {
  auto p = compile(resource_env(), text);
  return p ? "compiles" : p.error().message;
}

TEST(Cel, reads_structs_and_maps_of_the_embedding_program) {
  EXPECT_EQ(on_resource("resource.name"), R"("web-1")");
  EXPECT_EQ(on_resource("resource['name']"), R"("web-1")");
  EXPECT_EQ(on_resource("resource['na' + 'me']"), R"("web-1")");
  EXPECT_EQ(on_resource("resource.metadata['region'] == 'eu-west-1'"), "true");
  EXPECT_EQ(on_resource("resource.metadata.region"), R"("eu-west-1")");
  EXPECT_EQ(on_resource("has(resource.metadata.region)"), "true");
  EXPECT_EQ(on_resource("has(resource.metadata.zone)"), "false");
  EXPECT_EQ(on_resource("'tier' in resource.metadata"), "true");
  EXPECT_EQ(on_resource("size(resource.metadata)"), "2");
  EXPECT_EQ(on_resource("resource.metadata.map(k, k)"), R"(["region", "tier"])");
  EXPECT_EQ(on_resource("resource.metadata.exists(k, v, k == 'tier' && v == '1')"), "true");
  EXPECT_EQ(on_resource("resource.metadata == {'region': 'eu-west-1', 'tier': '1'}"), "true");
  EXPECT_EQ(on_resource("resource.metadata[?'zone'].orValue('none')"), R"("none")");
}

TEST(Cel, a_missing_key_is_told_from_other_errors) {
  EXPECT_EQ(on_resource("resource.metadata['zone'] == 'a'"), "error missing_key 1:18");
  EXPECT_EQ(on_resource("resource.metadata.zone == 'a'"), "error missing_key 1:19");
  EXPECT_EQ(on_resource("resource.metadata['z' + 'one']"), "error missing_key 1:18");
  EXPECT_EQ(on_resource("1 / 0 == 1"), "error divide_by_zero 1:3");
  // The graver of two errors is reported, whichever comes first.
  EXPECT_EQ(on_resource("resource.metadata.zone == 'a' && 1 / 0 == 1"), "error divide_by_zero 1:36");
  EXPECT_EQ(on_resource("1 / 0 == 1 && resource.metadata.zone == 'a'"), "error divide_by_zero 1:3");
  // Absorbed by a term that decides.
  EXPECT_EQ(on_resource("resource.metadata.zone == 'a' || true"), "true");
  EXPECT_EQ(on_resource("resource.metadata.zone == 'a' && false"), "false");
}

TEST(Cel, a_timestamp_equals_its_text) {
  EXPECT_EQ(on_resource("resource.createdAt == timestamp('2024-05-01T12:00:00Z')"), "true");
  EXPECT_EQ(on_resource("resource.createdAt == '2024-05-01T12:00:00Z'"), "true");
  EXPECT_EQ(on_resource("resource.createdAt == '2024-05-01T14:00:00+02:00'"), "true");
  EXPECT_EQ(on_resource("resource.createdAt != '2024-05-01T12:00:01Z'"), "true");
  EXPECT_EQ(on_resource("resource.createdAt == 'yesterday'"), "false");
  EXPECT_EQ(on_resource("resource.createdAt < '2025-01-01T00:00:00Z'"), "true");
}

TEST(Cel, a_null_field_compares_with_null) {
  EXPECT_EQ(on_resource("resource.providerId == null"), "true");
  EXPECT_EQ(on_resource("resource.name == null"), "false");
}

TEST(Cel, a_compile_error_says_where_and_what_instead) {
  EXPECT_EQ(complaint("resource.name == 'a' AND resource.kind == 'b'"),
            "1:22: unexpected 'AND': use && for 'and'");
  EXPECT_EQ(complaint("resource.nam == 'a'"), "1:10: unknown field 'nam' of Resource; did you mean 'name'?");
  EXPECT_EQ(complaint("resource['nam']"), "1:10: unknown field 'nam' of Resource; did you mean 'name'?");
  EXPECT_EQ(complaint("resorce.name == 'a'"), "1:1: unknown name 'resorce'; did you mean 'resource'?");
  EXPECT_EQ(complaint("resource.name.startswith('a')"),
            "1:15: unknown function 'startswith'; did you mean 'startsWith'?");
  EXPECT_EQ(complaint("resource.name = 'a'"), "1:15: '=' is not an operator; use == to compare");
  EXPECT_EQ(complaint("resource.name == 1"),
            "1:15: == does not apply to string and int; convert one with int(…), double(…) or string(…)");
  EXPECT_EQ(complaint("resource.name ==\n  == 'x'"), "2:3: unexpected '==', wanted a value");
  EXPECT_EQ(complaint("resource.name.matches('(')"), "1:23: bad regular expression: missing ): (");
  EXPECT_EQ(complaint("has(resource.metadata['a'])"),
            "1:1: has() takes a field, as in has(a.b); for a key write 'key' in a");
}

TEST(Cel, every_complaint_is_a_detail_with_its_position) {
  auto p = compile(resource_env(), "resource.foo == 'a' &&\nbar");
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code, ErrorCode::kInvalid);
  ASSERT_EQ(p.error().details.size(), 2u);
  EXPECT_EQ(p.error().details[0].path, "1:10");
  EXPECT_EQ(p.error().details[1].path, "2:1");
}

TEST(Cel, a_condition_must_be_bool) {
  EXPECT_TRUE(compile_condition(resource_env(), "resource.name == 'a'"));
  EXPECT_TRUE(compile_condition(resource_env(), "dyn(resource.name)"));
  auto p = compile_condition(resource_env(), "resource.name");
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().message, "1:1: a condition is bool; this expression is string");
}

class CountingVariables final : public LazyVariables {
 public:
  Value variable(uint32_t slot, Arena& arena) const override {
    ++calls;
    if (slot == 1) return Value();
    return Value::string(arena.copy("made on demand"));
  }
  mutable int calls = 0;
};

TEST(Cel, variables_are_made_only_when_read) {
  Env env;
  ASSERT_TRUE(env.declare("a", "string"));
  ASSERT_TRUE(env.declare("b", "string"));
  CountingVariables lazy;
  Arena arena;
  auto p = compile(env, "false && a == 'x'");
  EXPECT_TRUE(p->eval({.lazy = &lazy}, arena).is_false());
  EXPECT_EQ(lazy.calls, 0);
  p = compile(env, "a == 'made on demand'");
  EXPECT_TRUE(p->eval({.lazy = &lazy}, arena).is_true());
  EXPECT_EQ(lazy.calls, 1);
  p = compile(env, "b == 'x'");
  EXPECT_EQ(p->eval({.lazy = &lazy}, arena).fault(), Fault::kUnbound);
}

class Squares final : public Sequence {
 public:
  size_t size() const override { return 4; }
  Value at(size_t i, Arena& arena) const override { return Value::string(arena.copy(std::to_string(i * i))); }
};

TEST(Cel, lists_of_the_embedding_program_are_made_element_by_element) {
  Env env;
  ASSERT_TRUE(env.declare("l", "list(string)"));
  Squares squares;
  std::vector<Value> slots = {Value::list(squares)};
  EXPECT_EQ(eval_text(env, "l", slots), R"(["0", "1", "4", "9"])");
  EXPECT_EQ(eval_text(env, "l[2] + l[3]", slots), R"("49")");
  EXPECT_EQ(eval_text(env, "'4' in l && l == ['0', '1', '4', '9']", slots), "true");
  EXPECT_EQ(eval_text(env, "l.map(i, v, i > 0, v)", slots).substr(0, 7), "invalid");
  EXPECT_EQ(eval_text(env, "(l + ['a']).slice(3, 5).join()", slots), R"("9a")");
  EXPECT_EQ(eval_text(env, "l.sortBy(x, -int(x)).reverse().distinct()", slots), R"(["0", "1", "4", "9"])");
}

TEST(Cel, long_lists_of_constant_texts_are_found_by_hash) {
  Env env;
  ASSERT_TRUE(env.declare("s", "dyn"));
  std::string list = "[";
  for (int i = 0; i < 5000; ++i) list += "'n" + std::to_string(i * 7) + "', ";
  list += "'last', '2024-05-01T12:00:00Z']";
  EXPECT_EQ(eval_text(env, "s in " + list, {Value::string("n700")}), "true");
  EXPECT_EQ(eval_text(env, "s in " + list, {Value::string("last")}), "true");
  EXPECT_EQ(eval_text(env, "s in " + list, {Value::string("n701")}), "false");
  EXPECT_EQ(eval_text(env, "s in " + list, {Value::integer(7)}), "false");
  EXPECT_EQ(eval_text(env, "s in " + list, {Value::timestamp(TestResource().created_at)}), "true");
}

TEST(Cel, a_program_is_used_by_several_threads_and_outlives_its_env) {
  auto env = std::make_unique<Env>(resource_env());
  auto p = compile(*env,
                   "resource.metadata.all(k, v, v.matches('^[a-z0-9-]+$')) && "
                   "resource.createdAt.getHours('Europe/Berlin') == 14");
  ASSERT_TRUE(p) << p.error().message;
  env.reset();
  TestResource r;
  std::vector<std::thread> threads;
  std::vector<int> matched(4);
  for (int& count : matched) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Arena arena;
        Value slots[] = {Value::map(r)};
        count += p->eval({slots}, arena).is_true();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(matched, (std::vector<int>{200, 200, 200, 200}));
}

TEST(Cel, errors_describe_themselves) {
  auto p = compile(resource_env(), "true &&\n resource.metadata['zone'] == 'a'");
  TestResource r;
  Value slots[] = {Value::map(r)};
  Arena arena;
  Value v = p->eval({slots}, arena);
  EXPECT_TRUE(v.is_missing_key());
  EXPECT_EQ(p->describe(v), "2:19: no such key: 'zone'");
}

TEST(Cel, own_functions_can_be_declared) {
  Env env;
  ASSERT_TRUE(env.declare_function(
      "twice", Style::kMember, "int -> int",
      [](Context&, std::span<const Value> a) { return Value::integer(a[0].as_int() * 2); }));
  EXPECT_EQ(eval_text(env, "21.twice()"), "42");
  EXPECT_FALSE(env.declare("x", "nonsense"));
  EXPECT_FALSE(env.declare_function("f", Style::kGlobal, "int"));
}

}  // namespace
}  // namespace ctrlplane::cel
