#include "store/row.h"

#include <charconv>
#include <cstring>

#include <fmt/core.h>

#include "base/check.h"
#include "model/json_writer.h"
#include "store/columns.h"

namespace ctrlplane::store {
namespace {

// ---- Type to column type ---------------------------------------------------------------------------

template <class T>
struct TypeOf {
  static constexpr ColumnType value = std::is_enum_v<T> ? ColumnType::kText : ColumnType::kInt;
};
template <>
struct TypeOf<Uuid> {
  static constexpr ColumnType value = ColumnType::kUuid;
};
template <>
struct TypeOf<Digest> : TypeOf<Uuid> {};
template <class Tag>
struct TypeOf<Id<Tag>> : TypeOf<Uuid> {};
template <>
struct TypeOf<std::string> {
  static constexpr ColumnType value = ColumnType::kText;
};
template <>
struct TypeOf<Json> : TypeOf<std::string> {};
template <>
struct TypeOf<Metadata> : TypeOf<std::string> {};
template <>
struct TypeOf<std::vector<PastVersion>> {
  static constexpr ColumnType value = ColumnType::kBytes;
};
template <class Tag>
struct TypeOf<std::vector<Id<Tag>>> : TypeOf<std::vector<PastVersion>> {};
template <>
struct TypeOf<std::vector<FreezeSpan>> : TypeOf<std::string> {};
template <>
struct TypeOf<std::vector<PolicyRule>> : TypeOf<std::string> {};
template <>
struct TypeOf<std::vector<Ending>> : TypeOf<std::string> {};
template <>
struct TypeOf<std::vector<MemberEdge>> : TypeOf<std::string> {};
template <class T>
struct TypeOf<std::optional<T>> : TypeOf<T> {};

struct Describer {
  std::vector<Column> columns;
  template <class T>
  void key(std::string_view name, const T&) {
    columns.push_back({name, TypeOf<T>::value, true});
  }
  template <class T>
  void col(std::string_view name, const T&) {
    columns.push_back({name, TypeOf<T>::value, false});
  }
};

template <class E>
Table make_table(std::string_view name, HotFilter hot = {}, bool write_once = false) {
  Describer d;
  E e;
  describe(d, e, static_cast<const E*>(nullptr));
  return {name, std::move(d.columns), std::move(hot), write_once};
}

HotFilter where(std::string_view column, std::vector<CellView> values) {
  return {HotFilter::Kind::kWhere, column, std::move(values), {}};
}
const HotFilter kCold{HotFilter::Kind::kNone, {}, {}, {}};
// What was said of a version is needed as long as the version is.
const HotFilter kOfHotVersion{HotFilter::Kind::kOf, "version_id", {}, "deployment_version"};

// ---- Writing ---------------------------------------------------------------------------------------

struct Writer {
  std::vector<CellView>& cells;
  std::deque<std::string>& scratch;

  template <class T>
  void key(std::string_view name, const T& v) {
    col(name, v);
  }
  template <class T>
  void col(std::string_view, const T& v) {
    cells.push_back(cell(v));
  }

  CellView keep(std::string text) { return std::string_view(scratch.emplace_back(std::move(text))); }
  CellView cell(bool v) { return int64_t{v}; }
  CellView cell(int64_t v) { return v; }
  CellView cell(Time t) { return t.us; }
  CellView cell(Duration d) { return d.us; }
  CellView cell(const Uuid& u) { return u; }
  CellView cell(const Digest& d) { return Uuid{d.bytes}; }
  CellView cell(const std::string& s) { return std::string_view(s); }
  CellView cell(const Json& j) { return std::string_view(j.text()); }
  CellView cell(const Metadata& m) { return m.empty() ? CellView(std::string_view("{}")) : keep(m.json()); }
  CellView cell(const std::vector<PastVersion>& past) {
    std::string out;
    for (const PastVersion& p : past) {
      out.append(reinterpret_cast<const char*>(p.version.uuid.bytes.data()), 16);
      uint64_t us = __builtin_bswap64(static_cast<uint64_t>(p.first_success.us));
      out.append(reinterpret_cast<const char*>(&us), 8);
    }
    return keep(std::move(out));
  }
  template <class Tag>
  CellView cell(const std::vector<Id<Tag>>& ids) {
    std::string out;
    for (const Id<Tag>& id : ids) out.append(reinterpret_cast<const char*>(id.uuid.bytes.data()), 16);
    return keep(std::move(out));
  }
  // A line each: version, status and time.
  CellView cell(const std::vector<Ending>& endings) {
    std::string out;
    for (const Ending& e : endings)
      out += fmt::format("{} {} {}\n", e.version.str(), to_string(e.status), e.first_at.us);
    return keep(std::move(out));
  }
  CellView cell(const std::vector<PolicyRule>& rules) { return keep(rules_json(rules)); }
  CellView cell(const std::vector<FreezeSpan>& spans) { return keep(spans_json(spans)); }
  CellView cell(const std::vector<MemberEdge>& edges) {
    JsonWriter w;
    w.open_array();
    for (const MemberEdge& e : edges) w.open().member("rule", e.rule).member("on", e.on).close();
    return keep(w.close_array().take());
  }
  template <class Tag>
  CellView cell(const Id<Tag>& id) {
    return id.uuid;
  }
  template <class T>
    requires std::is_enum_v<T>
  CellView cell(T e) {
    return to_string(e);
  }
  template <class T>
  CellView cell(const std::optional<T>& v) {
    return v ? cell(*v) : CellView(Null{});
  }
};

// ---- Reading ---------------------------------------------------------------------------------------

struct Reader {
  const std::vector<CellView>& cells;
  size_t at = 0;
  std::string_view failed = {};  // first column that does not fit

  template <class T>
  void key(std::string_view name, T& v) {
    col(name, v);
  }
  template <class T>
  void col(std::string_view name, T& v) {
    if (!read(cells[at++], v) && failed.empty()) failed = name;
  }

  template <class T>
  static const T* as(const CellView& c) {
    return std::get_if<T>(&c);
  }
  static bool read(const CellView& c, int64_t& v) {
    const auto* p = as<int64_t>(c);
    return p && (v = *p, true);
  }
  static bool read(const CellView& c, bool& v) {
    const auto* p = as<int64_t>(c);
    return p && (v = *p != 0, true);
  }
  static bool read(const CellView& c, Time& v) { return read(c, v.us); }
  static bool read(const CellView& c, Duration& v) { return read(c, v.us); }
  static bool read(const CellView& c, Uuid& v) {
    const auto* p = as<Uuid>(c);
    return p && (v = *p, true);
  }
  static bool read(const CellView& c, Digest& v) {
    const auto* p = as<Uuid>(c);
    return p && (v.bytes = p->bytes, true);
  }
  template <class Tag>
  static bool read(const CellView& c, Id<Tag>& v) {
    return read(c, v.uuid);
  }
  static bool read(const CellView& c, std::string& v) {
    const auto* p = as<std::string_view>(c);
    return p && (v = *p, true);
  }
  static bool read(const CellView& c, Json& v) {
    const auto* p = as<std::string_view>(c);
    return p && (v = Json::trusted(std::string(*p)), true);
  }
  static bool read(const CellView& c, Metadata& v) {
    const auto* p = as<std::string_view>(c);
    return p && (v = Metadata::parse_trusted(*p), true);
  }
  static bool read(const CellView& c, std::vector<PastVersion>& v) {
    const auto* p = as<std::string_view>(c);
    if (!p || p->size() % 24 != 0) return false;
    v.resize(p->size() / 24);
    for (size_t i = 0; i < v.size(); ++i) {
      std::memcpy(v[i].version.uuid.bytes.data(), p->data() + i * 24, 16);
      uint64_t us;
      std::memcpy(&us, p->data() + i * 24 + 16, 8);
      v[i].first_success.us = static_cast<int64_t>(__builtin_bswap64(us));
    }
    return true;
  }
  template <class Tag>
  static bool read(const CellView& c, std::vector<Id<Tag>>& v) {
    const auto* p = as<std::string_view>(c);
    if (!p || p->size() % 16 != 0) return false;
    v.resize(p->size() / 16);
    for (size_t i = 0; i < v.size(); ++i) std::memcpy(v[i].uuid.bytes.data(), p->data() + i * 16, 16);
    return true;
  }
  static bool read(std::string_view line, Ending& v) {
    const size_t first = line.find(' '), second = line.rfind(' ');
    if (first == std::string_view::npos || second == first) return false;
    auto version = VersionId::parse(line.substr(0, first));
    auto status = parse_enum<JobStatus>(line.substr(first + 1, second - first - 1));
    const char* end = line.data() + line.size();
    auto time = std::from_chars(line.data() + second + 1, end, v.first_at.us);
    if (!version || !status || time.ec != std::errc{} || time.ptr != end) return false;
    v.version = *version;
    v.status = *status;
    return true;
  }
  static bool read(const CellView& c, std::vector<Ending>& v) {
    const auto* p = as<std::string_view>(c);
    if (!p) return false;
    v.clear();
    for (std::string_view left = *p; !left.empty();) {
      const size_t end = left.find('\n');
      if (end == std::string_view::npos || !read(left.substr(0, end), v.emplace_back())) return false;
      left.remove_prefix(end + 1);
    }
    return true;
  }
  static bool read(const CellView& c, std::vector<PolicyRule>& v) {
    const auto* p = as<std::string_view>(c);
    auto rules = p ? parse_rules(*p) : std::nullopt;
    return rules && (v = *std::move(rules), true);
  }
  static bool read(const CellView& c, std::vector<FreezeSpan>& v) {
    const auto* p = as<std::string_view>(c);
    auto spans = p ? parse_spans(*p) : std::nullopt;
    return spans && (v = *std::move(spans), true);
  }
  static bool take(std::string_view& left, std::string_view expected) {
    if (!left.starts_with(expected)) return false;
    left.remove_prefix(expected.size());
    return true;
  }
  template <class Tag>
  static bool take(std::string_view& left, Id<Tag>& v) {
    const std::string_view text = left.substr(0, 36);
    auto id = Id<Tag>::parse(text);
    left.remove_prefix(text.size());
    return id && (v = *id, true);
  }
  // To the letter as it is written, so it needs no parser of JSON.
  static bool read(const CellView& c, std::vector<MemberEdge>& v) {
    const auto* p = as<std::string_view>(c);
    v.clear();
    std::string_view left = p ? *p : std::string_view();
    if (!take(left, "[")) return false;
    while (left != "]") {
      MemberEdge& e = v.emplace_back();
      if (v.size() > 1 && !take(left, ",")) return false;
      if (!take(left, R"({"rule":")") || !take(left, e.rule)) return false;
      if (!take(left, R"(","on":")") || !take(left, e.on) || !take(left, R"("})")) return false;
    }
    return true;
  }
  template <class T>
    requires std::is_enum_v<T>
  static bool read(const CellView& c, T& v) {
    const auto* p = as<std::string_view>(c);
    if (!p) return false;
    auto e = parse_enum<T>(*p);
    return e && (v = *e, true);
  }
  template <class T>
  static bool read(const CellView& c, std::optional<T>& v) {
    if (std::holds_alternative<Null>(c)) return v.reset(), true;
    return read(c, v.emplace());
  }
};

template <size_t I>
Result<Entity> read_as(const std::vector<CellView>& cells) {
  using E = std::variant_alternative_t<I, Entity>;
  Entity entity(std::in_place_index<I>);
  Reader r{cells};
  describe(r, std::get<I>(entity), static_cast<const E*>(nullptr));
  if (!r.failed.empty())
    return fail(ErrorCode::kInternal,
                fmt::format("table {}: column {} holds a value this program never writes", tables()[I].name,
                            r.failed));
  return entity;
}

template <size_t... I>
auto make_readers(std::index_sequence<I...>) {
  return std::array{&read_as<I>...};
}
const auto kReaders = make_readers(std::make_index_sequence<std::variant_size_v<Entity>>());

}  // namespace

size_t Table::key_count() const {
  size_t n = 0;
  while (n < columns.size() && columns[n].key) ++n;
  return n;
}

size_t Table::column(std::string_view wanted) const {
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == wanted) return i;
  check_failed("column exists", __FILE__, __LINE__, wanted);
}

const std::vector<Table>& tables() {
  static const std::vector<Table> all = {
      make_table<Workspace>("workspace"),
      make_table<User>("user_account"),
      make_table<ApiKey>("api_key"),
      make_table<Session>("user_session"),
      make_table<Member>("workspace_member"),
      make_table<System>("system"),
      make_table<Environment>("environment"),
      make_table<Deployment>("deployment"),
      make_table<SystemDeployment>("system_deployment"),
      make_table<SystemEnvironment>("system_environment"),
      make_table<Policy>("policy"),
      make_table<Version>("deployment_version", where("retired", {int64_t{0}})),
      make_table<Provider>("resource_provider"),
      make_table<Resource>("resource"),
      make_table<Approval>("approval", kOfHotVersion),
      make_table<PolicySkip>("policy_skip"),
      make_table<VersionDependency>("version_dependency", kOfHotVersion),
      make_table<Setting>("workspace_setting"),
      make_table<NotificationChannel>("notification_channel"),
      make_table<Freeze>("deployment_freeze", where("retired", {int64_t{0}})),
      make_table<FreezeEvent>("deployment_freeze_event", kCold),
      make_table<BracketGroup>("bracket_version_group", where("retired", {int64_t{0}})),
      make_table<BracketMember>("bracket_version_group_member", where("retired", {int64_t{0}})),
      make_table<ConcurrencySlot>("resource_slot"),
      make_table<Quarantine>("bracket_quarantine", where("cleared_by", {std::string_view("")})),
      make_table<JobAgent>("job_agent"),
      make_table<Release>("release", kCold),
      make_table<TargetState>("release_target"),
      make_table<Job>("job", where("live", {int64_t{1}})),
      make_table<ContextPart>("context_part", kCold, true),
      make_table<OutboxItem>("outbox",
                             where("status", {std::string_view("pending"), std::string_view("sending")})),
      make_table<IdempotencyRecord>("idempotency"),
      make_table<AuditEntry>("audit_entry", kCold),
  };
  return all;
}

const Table& table_of(const Entity& e) { return tables()[e.index()]; }

const Table& table_named(std::string_view name) {
  for (const Table& t : tables())
    if (t.name == name) return t;
  check_failed("table exists", __FILE__, __LINE__, name);
}

size_t table_index(const Table& table) { return static_cast<size_t>(&table - tables().data()); }

const std::vector<CellView>& RowWriter::write(const Entity& entity) {
  cells_.clear();
  scratch_.clear();
  Writer w{cells_, scratch_};
  std::visit([&](const auto& e) { describe(w, e, &e); }, entity);
  return cells_;
}

Result<Entity> read_row(size_t index, const std::vector<CellView>& cells) {
  CHECK(index < kReaders.size() && cells.size() == tables()[index].columns.size(),
        "row does not fit its table");
  return kReaders[index](cells);
}

CellView view(const Cell& cell) {
  return std::visit([](const auto& v) -> CellView { return v; }, cell);
}

Cell own(const CellView& cell) {
  if (const auto* text = std::get_if<std::string_view>(&cell)) return std::string(*text);
  if (const auto* i = std::get_if<int64_t>(&cell)) return *i;
  if (const auto* u = std::get_if<Uuid>(&cell)) return *u;
  return Null{};
}

}  // namespace ctrlplane::store
