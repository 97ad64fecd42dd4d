#include "state/narrowing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cel/syntax/parser.h"

namespace ctrlplane {
namespace {

using cel::Expr;
using cel::ExprKind;
using cel::Kind;
using cel::Op;

// So many equalities are evaluated within any budget: what is more counts as unknown.
constexpr size_t kMaxTerms = 1000, kMaxTexts = 10'000;

struct Read {
  ResourceField field;
  std::string key;
};

// Passes only through &&, || and parentheses: there `resource` is always the variable, because macros
// that name variables of their own are not looked into.
class Finder {
 public:
  Narrowing of(const Expr& e) {
    switch (e.kind) {
      case ExprKind::kLogic: return of_logic(e);
      case ExprKind::kBinary: return of_binary(e);
      case ExprKind::kMacro: return of_has(e);
      case ExprKind::kLiteral:
        if (e.value.is_true()) return Narrowing::all({});
        if (e.value.is_false()) return Narrowing::any({});
        return {};
      default: return {};
    }
  }

 private:
  Narrowing of_logic(const Expr& e) {
    std::vector<Narrowing> parts;
    for (const Expr* arg : e.args) parts.push_back(of(*arg));
    return e.op == Op::kAnd ? Narrowing::all(std::move(parts)) : Narrowing::any(std::move(parts));
  }

  Narrowing of_binary(const Expr& e) {
    const Expr *left = e.args[0], *right = e.args[1];
    if (e.op == Op::kEq) {
      if (text_of(*left)) std::swap(left, right);
      auto text = text_of(*right);
      return text ? term(read_of(*left), {std::string(*text)}) : Narrowing::unknown();
    }
    if (e.op != Op::kIn) return {};
    if (auto key = text_of(*left)) return is_metadata(*right) ? has_key(*key) : Narrowing::unknown();
    auto texts = texts_of(*right);
    return texts ? term(read_of(*left), std::move(*texts)) : Narrowing::unknown();
  }

  Narrowing of_has(const Expr& e) {
    if (e.macro != cel::Macro::kHas || e.args[0]->kind != ExprKind::kSelect) return {};
    const Expr& select = *e.args[0];
    if (select.has(Expr::kOptional) || !is_metadata(*select.args[0])) return {};
    return has_key(select.name);
  }

  Narrowing has_key(std::string_view key) {
    return term(Read{ResourceField::kMetadataKey, std::string(key)}, {""});
  }

  Narrowing term(std::optional<Read> read, std::vector<std::string> any_of) {
    if (!read || ++terms_ > kMaxTerms || (texts_ += any_of.size()) > kMaxTexts) return {};
    return Narrowing::term(read->field, std::move(read->key), std::move(any_of));
  }

  static std::optional<std::string_view> text_of(const Expr& e) {
    if (e.kind != ExprKind::kLiteral || !e.value.is(Kind::kString)) return std::nullopt;
    return e.value.as_text();
  }

  static std::optional<std::vector<std::string>> texts_of(const Expr& e) {
    if (e.kind != ExprKind::kList) return std::nullopt;
    std::vector<std::string> texts;
    for (size_t i = 0; i < e.args.size(); ++i) {
      auto text = text_of(*e.args[i]);
      if (!text || e.entry_optional[i]) return std::nullopt;
      texts.emplace_back(*text);
    }
    return texts;
  }

  static bool is_resource(const Expr& e) { return e.kind == ExprKind::kIdent && e.name == "resource"; }
  static bool is_metadata(const Expr& e) {
    return e.kind == ExprKind::kSelect && !e.has(Expr::kOptional) && e.name == "metadata" &&
           is_resource(*e.args[0]);
  }

  // Only fields that are text, or null: others equal texts that are not written like them.
  static std::optional<Read> read_of(const Expr& e) {
    static constexpr std::pair<std::string_view, ResourceField> kFields[] = {
        {"name", ResourceField::kName},
        {"kind", ResourceField::kKind},
        {"version", ResourceField::kVersion},
        {"identifier", ResourceField::kIdentifier},
        {"providerId", ResourceField::kProvider}};
    if (e.has(Expr::kOptional)) return std::nullopt;
    if (e.kind == ExprKind::kSelect && is_metadata(*e.args[0]))
      return Read{ResourceField::kMetadata, std::string(e.name)};
    if (e.kind == ExprKind::kIndex && is_metadata(*e.args[0]))
      if (auto key = text_of(*e.args[1])) return Read{ResourceField::kMetadata, std::string(*key)};
    if (e.kind == ExprKind::kSelect && is_resource(*e.args[0]))
      for (const auto& [name, field] : kFields)
        if (e.name == name) return Read{field, {}};
    return std::nullopt;
  }

  size_t terms_ = 0, texts_ = 0;
};

Narrowing joined(Narrowing::Kind kind, std::vector<Narrowing> parts) {
  Narrowing n;
  n.kind = kind;
  n.partial = std::any_of(parts.begin(), parts.end(), [](const Narrowing& p) { return p.partial; });
  n.parts = std::move(parts);
  return n;
}

}  // namespace

Narrowing Narrowing::term(ResourceField field, std::string key, std::vector<std::string> any_of) {
  Narrowing n;
  n.kind = Kind::kTerm;
  n.partial = false;
  n.field = field;
  n.key = std::move(key);
  n.any_of = std::move(any_of);
  return n;
}

Narrowing Narrowing::all(std::vector<Narrowing> parts) { return joined(Kind::kAll, std::move(parts)); }
Narrowing Narrowing::any(std::vector<Narrowing> parts) { return joined(Kind::kAny, std::move(parts)); }

Narrowing narrowing_of(std::string_view source) {
  auto ast = cel::parse(source);
  return ast ? Finder().of(*ast->root) : Narrowing::unknown();
}

}  // namespace ctrlplane
