// libFuzzer target: parser, checker, planner and evaluator on any bytes, and the properties that
// printing and folding keep.
#include <cstdio>
#include <cstdlib>

#include "cel/agreement.h"
#include "cel/cel.h"

namespace {

using namespace ctrlplane;
using namespace ctrlplane::cel;

struct World {
  World() {
    bool ok = env.declare_struct("Resource", {{"name", "string"}, {"metadata", "map(string, string)"}})
                  .has_value() &&
              env.declare("resource", "Resource").has_value() && env.declare("x", "dyn").has_value() &&
              env.declare("l", "list(int)").has_value() && env.declare("s", "string").has_value() &&
              env.declare("t", "timestamp").has_value();
    if (!ok) std::abort();
    Context ctx{arena, 1000};
    MapBuilder metadata(ctx, 2), resource(ctx, 2);
    metadata.add(Value::string("region"), Value::string("eu-west-1"));
    metadata.add(Value::string("tier"), Value::string("1"));
    resource.add(Value::string("name"), Value::string("web-1"));
    resource.add(Value::string("metadata"), metadata.build());
    for (int i = 0; i < 5; ++i) ints[i] = Value::integer(i * 7 - 3);
    slots[0] = resource.build();
    slots[1] = Value::real(1.5);
    slots[2] = Value::list(ints);
    slots[3] = Value::string("Grüße, ab12");
    slots[4] = Value::timestamp(1700000000, 5);
  }
  Env env;
  Arena arena;
  Value ints[5];
  Value slots[5];
};

void demand(const std::string& complaint, std::string_view text) {
  if (complaint.empty()) return;
  std::fprintf(stderr, "%.*s\n%s\n", static_cast<int>(text.size()), text.data(), complaint.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const World world;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  demand(check_reprint(text), text);
  demand(check_folding(world.env, text, world.slots, true), text);
  demand(check_folding(world.env, text, world.slots, false), text);
  return 0;
}
