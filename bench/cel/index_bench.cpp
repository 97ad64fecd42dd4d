// Searching 100,000 resources of ten metadata pairs each: every one evaluated, beside only the candidates
// of the index. And what the index costs in memory and when resources are written.
#include <malloc.h>

#include <fmt/core.h>

#include "base/check.h"
#include "measure.h"
#include "state/state.h"

namespace ctrlplane::bench {
namespace {

constexpr size_t kResources = 100'000;

std::vector<Resource> make_resources() {
  std::vector<Resource> all(kResources);
  for (size_t i = 0; i < all.size(); ++i) {
    Resource& r = all[i];
    r.id = {Uuid::from_halves(i + 1, mix64(i))};
    r.identifier = fmt::format("clusters/{}", i);
    r.name = fmt::format("cluster-{}", i);
    r.kind = i % 10 == 0 ? "Cluster" : "Node";
    r.version = "v1";
    r.metadata.set("team", fmt::format("team-{}", i % 40));
    r.metadata.set("tier", i % 2 == 0 ? "1" : "2");
    if (i % 5 != 0) r.metadata.set("region", i % 3 == 0 ? "eu-west-1" : "us-east-1");
    r.metadata.set("zone", fmt::format("zone-{}", i % 12));
    r.metadata.set("account", fmt::format("account-{}", i / 200));
    r.metadata.set("rack", fmt::format("rack-{}", i / 20));
    r.metadata.set("os", i % 7 == 0 ? "bottlerocket" : "debian");
    r.metadata.set("managed-by", "terraform");
    r.metadata.set("uid", fmt::format("{:016x}", mix64(i)));
    r.metadata.set("address", fmt::format("10.{}.{}.{}", i >> 16, i >> 8 & 255, i & 255));
  }
  return all;
}

// Allocated bytes, of CRoaring as well.
size_t in_use() {
  struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

void cost(const std::vector<Resource>& rows) {
  size_t before = in_use();
  auto start = std::chrono::steady_clock::now();
  ResourceIndex index;
  for (uint32_t n = 0; n < rows.size(); ++n) index.put({n}, nullptr, rows[n]);
  std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  size_t bytes = in_use() - before;
  fmt::print("\nindex of {} resources: {:.1f} MB, {:.0f} bytes each, {} values; {:.2f} us to add one\n",
             rows.size(), static_cast<double>(bytes) / 1e6, static_cast<double>(bytes) / kResources,
             index.values(), took.count() / kResources);
  Resource edited = rows[17];
  edited.metadata.set("tier", "3");
  bool there = false;
  Measure m = measure([&] {
    index.put({17}, there ? &edited : &rows[17], there ? rows[17] : edited);
    there = !there;
  });
  fmt::print("an edit of one pair: {:.2f} us", m.ns / 1000);
  m = measure([&] { index.put({17}, &rows[17], rows[17]); });
  fmt::print("; the same row again: {:.2f} us\n", m.ns / 1000);
}

struct Found {
  size_t matches = 0, evaluations = 0;
};

Found search(const State& state, const Selector& selector, bool indexed) {
  Found found;
  ResourceWalk walk;
  if (indexed) walk.among = state.candidates(selector);
  size_t budget = SIZE_MAX;
  state.walk(walk, budget, [&](ResourceIx r) {
    ++found.evaluations;
    found.matches += selector.match(state.resources[r].row) == Match::kYes;
  });
  return found;
}

void run(const State& state, std::string_view text) {
  auto selector = Selector::compile(text, Selector::Subject::kResource);
  CHECK(selector.has_value(), text);
  Found naive, indexed;
  Measure walk = measure([&] { naive = search(state, *selector, false); }, 0.5);
  Measure few = measure([&] { indexed = search(state, *selector, true); }, 0.5);
  CHECK(naive.matches == indexed.matches, text);
  fmt::print("{}\n{:>12} {:>14} {:>14.1f} {:>14} {:>14.1f} {:>9.1f}\n", text, naive.matches,
             naive.evaluations, walk.ns / 1000, indexed.evaluations, few.ns / 1000, walk.ns / few.ns);
}

}  // namespace

void indexed_cases() {
  const std::vector<Resource> rows = make_resources();
  cost(rows);
  State state{WorkspaceId{}};
  for (const Resource& r : rows) state.apply(Change::put(r));
  fmt::print("{:>12} {:>14} {:>14} {:>14} {:>14} {:>9}\n", "matches", "evaluations", "us", "with index", "us",
             "ratio");
  run(state, "resource.metadata['region'] == 'eu-west-1'");
  run(state, "resource.metadata['region'] == 'eu-west-1' && resource.metadata['team'] == 'team-7'");
  run(state, "resource.metadata['rack'] in ['rack-7', 'rack-8'] || resource.name == 'cluster-99999'");
  run(state, "resource.kind == 'Cluster' && resource.name.endsWith('00')");
  run(state, "resource.metadata['uid'] == 'nobody'");
  run(state, "resource.name.endsWith('00')");
}

}  // namespace ctrlplane::bench
