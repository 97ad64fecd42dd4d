#include "entities.h"

#include <utility>

#include <fmt/core.h>

#include "store/columns.h"
#include "store/row.h"

namespace ctrlplane::store::test {
namespace {

template <class E>
constexpr size_t kWords = 0;
template <>
constexpr size_t kWords<VersionStatus> = 6;
template <>
constexpr size_t kWords<JobStatus> = 11;
template <>
constexpr size_t kWords<JobCause> = 5;
template <>
constexpr size_t kWords<OutboxKind> = 3;
template <>
constexpr size_t kWords<OutboxStatus> = 4;
template <>
constexpr size_t kWords<Role> = 5;
template <>
constexpr size_t kWords<ApprovalStatus> = 2;
template <>
constexpr size_t kWords<FreezeScope> = 4;
template <>
constexpr size_t kWords<OnSelectorError> = 2;
template <>
constexpr size_t kWords<InFlight> = 3;
template <>
constexpr size_t kWords<FreezeAction> = 8;
template <>
constexpr size_t kWords<ChannelKind> = 3;
template <>
constexpr size_t kWords<GroupStatus> = 8;
template <>
constexpr size_t kWords<GroupCourse> = 3;
template <>
constexpr size_t kWords<MemberRole> = 3;
template <>
constexpr size_t kWords<Participation> = 4;
template <>
constexpr size_t kWords<MemberOutcome> = 8;

struct Filler {
  Random& random;

  template <class T>
  void key(std::string_view, T& v) {
    fill(v);
  }
  template <class T>
  void col(std::string_view, T& v) {
    fill(v);
  }

  std::string text() {
    static const std::string samples[] = {
        "",   "plain", "it's \"quoted\" \\ and\nbroken", "Zürich 東京 🚀", "%_?1$1", "\x01\x7f\ttail ",
        "{}", "NULL"};
    if (random.one_in(40)) return std::string(100000 + random.below(100000), 'x') + "é";
    return samples[random.below(std::size(samples))] +
           (random.one_in(2) ? std::to_string(random.below(1000)) : "");
  }
  void fill(bool& v) { v = random.one_in(2); }
  void fill(int64_t& v) {
    static const int64_t samples[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1700000000000000};
    v = random.one_in(2) ? samples[random.below(std::size(samples))] : static_cast<int64_t>(random.next());
  }
  void fill(Time& v) { fill(v.us); }
  void fill(Duration& v) { fill(v.us); }
  void fill(Uuid& v) { v = random.uuid(); }
  void fill(Digest& v) { v.bytes = random.uuid().bytes; }
  template <class Tag>
  void fill(Id<Tag>& v) {
    fill(v.uuid);
  }
  void fill(std::string& v) { v = text(); }
  void fill(Json& v) {
    std::string body = "{\"k\":";
    append_json_string(body, text());
    v = Json::trusted(body + "}");
  }
  void fill(Metadata& v) {
    v = {};
    for (uint64_t n = random.below(4); n > 0; --n) v.set("key" + text(), text());
  }
  void fill(std::vector<PastVersion>& v) {
    v.resize(random.below(4));
    for (PastVersion& p : v) {
      fill(p.version);
      fill(p.first_success);
    }
  }
  template <class Tag>
  void fill(std::vector<Id<Tag>>& v) {
    v.resize(random.below(4));
    for (Id<Tag>& id : v) fill(id);
  }
  void fill(std::vector<FreezeSpan>& v) {
    v.resize(random.below(4));
    for (FreezeSpan& s : v) {
      fill(s.from);
      fill(s.to);
      fill(s.selector);
    }
  }
  void fill(std::vector<MemberEdge>& v) {
    v.resize(random.below(4));
    for (MemberEdge& e : v) {
      fill(e.rule);
      fill(e.on);
    }
  }
  void fill(std::vector<Ending>& v) {
    v.resize(random.below(4));
    for (Ending& e : v) {
      fill(e.version);
      fill(e.status);
      fill(e.first_at);
    }
  }
  void fill(std::vector<PolicyRule>& v) {
    v.resize(random.below(4));
    for (PolicyRule& r : v) {
      fill(r.id);
      fill(r.created_at);
      fill(r.type);
      fill(r.body);
      fill(r.shown_created_at);
    }
  }
  template <class T>
    requires std::is_enum_v<T>
  void fill(T& v) {
    static_assert(kWords<T> > 0, "say how many words this enum has");
    v = static_cast<T>(random.below(kWords<T>));
  }
  template <class T>
  void fill(std::optional<T>& v) {
    if (random.one_in(3))
      v.reset();
    else
      fill(v.emplace());
  }
};

template <size_t... I>
Entity blank(size_t table, std::index_sequence<I...>) {
  using Make = Entity (*)();
  constexpr Make make[] = {[] { return Entity(std::in_place_index<I>); }...};
  return make[table]();
}

std::string text_of_cell(const CellView& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return std::to_string(*i);
  if (const auto* u = std::get_if<Uuid>(&cell)) return u->str();
  const auto* text = std::get_if<std::string_view>(&cell);
  if (!text) return "NULL";
  if (text->size() < 60) return fmt::format("'{}'", *text);
  return fmt::format("<{} bytes {}>", text->size(), Uuid{digest_of(*text).bytes}.str());
}

}  // namespace

Entity random_entity(Random& random, size_t table) {
  Entity e = blank(table, std::make_index_sequence<std::variant_size_v<Entity>>());
  Filler filler{random};
  std::visit([&](auto& entity) { describe(filler, entity, &std::as_const(entity)); }, e);
  if (auto* s = std::get_if<Setting>(&e)) s->name += random.uuid().str();  // its name alone is its key
  return e;
}

std::string text_of(const Entity& entity) {
  RowWriter writer;
  std::string out(table_of(entity).name);
  for (const CellView& cell : writer.write(entity)) out += " " + text_of_cell(cell);
  return out;
}

std::set<std::string> texts_of(const std::vector<Entity>& entities) {
  std::set<std::string> out;
  for (const Entity& e : entities) out.insert(text_of(e));
  return out;
}

}  // namespace ctrlplane::store::test
