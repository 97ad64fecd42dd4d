#include "cel/check/type.h"

#include <array>

#include <fmt/core.h>

namespace ctrlplane::cel {
namespace {

struct SimpleName {
  std::string_view name;
  TypeKind kind;
};
constexpr SimpleName kSimpleNames[] = {
    {"dyn", TypeKind::kDyn},
    {"error", TypeKind::kError},
    {"null_type", TypeKind::kNull},
    {"null", TypeKind::kNull},
    {"bool", TypeKind::kBool},
    {"int", TypeKind::kInt},
    {"uint", TypeKind::kUint},
    {"double", TypeKind::kDouble},
    {"string", TypeKind::kString},
    {"bytes", TypeKind::kBytes},
    {"timestamp", TypeKind::kTimestamp},
    {"google.protobuf.Timestamp", TypeKind::kTimestamp},
    {"duration", TypeKind::kDuration},
    {"google.protobuf.Duration", TypeKind::kDuration},
};

class TypeParser {
 public:
  TypeParser(std::string_view text, TypePool& pool, const std::deque<StructType>& structs)
      : text_(text), pool_(pool), structs_(structs) {}

  Result<TypeRef> parse_whole() {
    TypeRef t = TRY(parse(0));
    skip_spaces();
    if (at_ != text_.size()) return bad("unexpected text after the type");
    return t;
  }

 private:
  Result<TypeRef> parse(int depth) {
    if (depth > 30) return bad("nested too deep");
    std::string_view name = word();
    if (name.empty()) return bad("a type name is missing");
    std::vector<TypeRef> params;
    skip_spaces();
    bool brackets = at_ < text_.size() && text_[at_] == '(';
    if (brackets) {
      do {
        ++at_;
        params.push_back(TRY(parse(depth + 1)));
        skip_spaces();
      } while (at_ < text_.size() && text_[at_] == ',');
      if (at_ >= text_.size() || text_[at_] != ')') return bad("')' is missing");
      ++at_;
    }
    return build(name, params, brackets);
  }

  Result<TypeRef> build(std::string_view name, const std::vector<TypeRef>& p, bool brackets) {
    TypeRef dyn = simple_type(TypeKind::kDyn);
    auto param = [&](size_t i) { return i < p.size() ? p[i] : dyn; };
    if (name == "list") return pool_.list(param(0));
    if (name == "map") return pool_.map(param(0), param(1));
    if (name == "optional_type" || name == "optional") return pool_.optional(param(0));
    if (name == "type") return pool_.type_of(param(0));
    if (brackets) return pool_.abstract(name, p);
    for (const SimpleName& s : kSimpleNames)
      if (s.name == name) return simple_type(s.kind);
    if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return pool_.param(name, 0);
    for (const StructType& s : structs_)
      if (s.name == name) return pool_.structure(&s);
    if (name.find('.') != std::string_view::npos) return pool_.abstract(name, {});
    return bad("unknown type");
  }

  std::string_view word() {
    skip_spaces();
    size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != ')' && text_[at_] != ',' &&
           text_[at_] != ' ')
      ++at_;
    return text_.substr(start, at_ - start);
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::unexpected<Error> bad(std::string_view why) const {
    return fail(ErrorCode::kInvalid, fmt::format("type '{}': {}", text_, why));
  }

  std::string_view text_;
  TypePool& pool_;
  const std::deque<StructType>& structs_;
  size_t at_ = 0;
};

std::string with_params(std::string_view name, TypeRef type) {
  std::string out(name);
  out += '(';
  for (size_t i = 0; i < type->params.size(); ++i) {
    if (i != 0) out += ", ";
    out += to_string(type->params[i]);
  }
  return out + ')';
}

}  // namespace

int32_t StructType::index_of(std::string_view field) const {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return static_cast<int32_t>(i);
  return -1;
}

TypeRef simple_type(TypeKind kind) {
  static const auto kTypes = [] {
    std::array<Type, static_cast<size_t>(TypeKind::kParam) + 1> all;
    for (size_t i = 0; i < all.size(); ++i) all[i].kind = static_cast<TypeKind>(i);
    return all;
  }();
  return &kTypes[static_cast<size_t>(kind)];
}

TypeRef TypePool::make(TypeKind kind, std::string_view name, std::span<const TypeRef> params) {
  Type t{kind, name};
  if (!params.empty()) {
    params_.emplace_back(params.begin(), params.end());
    t.params = params_.back();
    for (TypeRef p : params) t.has_params |= p->has_params;
  }
  types_.push_back(t);
  return &types_.back();
}

TypeRef TypePool::map(TypeRef key, TypeRef value) {
  TypeRef both[] = {key, value};
  return make(TypeKind::kMap, {}, both);
}

TypeRef TypePool::param(std::string_view name, uint32_t id) {
  types_.push_back({TypeKind::kParam, store(name), {}, nullptr, id, true});
  return &types_.back();
}

TypeRef TypePool::structure(const StructType* fields) {
  types_.push_back({TypeKind::kStruct, fields->name, {}, fields});
  return &types_.back();
}

std::string_view TypePool::store(std::string_view name) {
  if (name.empty()) return {};
  names_.emplace_back(name);
  return names_.back();
}

Result<TypeRef> parse_type(std::string_view text, TypePool& pool, const std::deque<StructType>& structs) {
  return TypeParser(text, pool, structs).parse_whole();
}

std::string to_string(TypeRef t) {
  switch (t->kind) {
    case TypeKind::kList: return with_params("list", t);
    case TypeKind::kMap: return with_params("map", t);
    case TypeKind::kOptional: return with_params("optional_type", t);
    case TypeKind::kType: return with_params("type", t);
    case TypeKind::kAbstract: return t->params.empty() ? std::string(t->name) : with_params(t->name, t);
    case TypeKind::kStruct: return t->fields->name;
    case TypeKind::kParam: return std::string(t->name);
    default: break;
  }
  for (const SimpleName& s : kSimpleNames)
    if (s.kind == t->kind) return std::string(s.name);
  return "?";
}

}  // namespace ctrlplane::cel
