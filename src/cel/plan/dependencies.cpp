#include "cel/plan/dependencies.h"

#include <algorithm>
#include <optional>

namespace ctrlplane::cel {
namespace {

bool is_prefix(const FieldPath& a, const FieldPath& b) {
  return a.slot == b.slot && a.names.size() <= b.names.size() &&
         std::equal(a.names.begin(), a.names.end(), b.names.begin());
}

class Finder {
 public:
  explicit Finder(const Checked& checked) : checked_(checked) {}

  Dependencies run(const Expr& root) {
    visit(root);
    find_conditions(root);
    std::sort(out_.paths.begin(), out_.paths.end());
    // Sorted, a prefix comes right before what it covers.
    std::vector<FieldPath> kept;
    for (FieldPath& p : out_.paths)
      if (kept.empty() || !is_prefix(kept.back(), p)) kept.push_back(std::move(p));
    out_.paths = std::move(kept);
    for (const FieldPath& p : out_.paths)
      if (out_.variables.empty() || out_.variables.back() != p.slot) out_.variables.push_back(p.slot);
    return std::move(out_);
  }

 private:
  const Resolution& resolution(const Expr& e) const { return checked_.resolutions[e.id]; }

  // The path if the node is a variable followed by nothing but constant names.
  std::optional<FieldPath> path_of(const Expr& e) const {
    std::vector<std::string> names;
    const Expr* at = &e;
    while (resolution(*at).kind == Resolution::Kind::kNone) {
      bool index = at->kind == ExprKind::kIndex && at->args[1]->kind == ExprKind::kLiteral &&
                   at->args[1]->value.is(Kind::kString);
      if (at->kind == ExprKind::kSelect)
        names.emplace_back(at->name);
      else if (index)
        names.emplace_back(at->args[1]->value.as_text());
      else
        return std::nullopt;
      at = at->args[0];
    }
    if (resolution(*at).kind != Resolution::Kind::kVariable) return std::nullopt;
    std::reverse(names.begin(), names.end());
    return FieldPath{static_cast<uint32_t>(resolution(*at).index), std::move(names)};
  }

  void visit(const Expr& e) {
    // 'key' in path reads only that key.
    if (e.kind == ExprKind::kBinary && e.op == Op::kIn && e.args[0]->kind == ExprKind::kLiteral &&
        e.args[0]->value.is(Kind::kString)) {
      if (auto path = path_of(*e.args[1]); path && is_map(*e.args[1])) {
        path->names.emplace_back(e.args[0]->value.as_text());
        out_.paths.push_back(std::move(*path));
        return;
      }
    }
    if (auto path = path_of(e)) {
      out_.paths.push_back(std::move(*path));
      return;
    }
    bool namespaced = resolution(e).namespaced;
    for (const Expr* arg : e.args.subspan(namespaced ? 1 : 0)) visit(*arg);
  }

  bool is_map(const Expr& e) const {
    TypeKind k = checked_.types[e.id]->kind;
    return k == TypeKind::kMap || k == TypeKind::kStruct;
  }

  // Only where the checker knows the value to be text: elsewhere == 'x' may compare a timestamp.
  bool is_text(const Expr& e) const { return checked_.types[e.id]->is(TypeKind::kString); }

  static bool text_list(const Expr& e, std::vector<std::string>& out) {
    if (e.kind != ExprKind::kList) return false;
    for (size_t i = 0; i < e.args.size(); ++i) {
      if (e.entry_optional[i] || e.args[i]->kind != ExprKind::kLiteral || !e.args[i]->value.is(Kind::kString))
        return false;
      out.emplace_back(e.args[i]->value.as_text());
    }
    return true;
  }

  std::optional<TextCondition> condition_of(const Expr& e) const {
    if (e.kind != ExprKind::kBinary) return std::nullopt;
    const Expr* read = e.args[0];
    const Expr* other = e.args[1];
    TextCondition c;
    if (e.op == Op::kEq) {
      if (read->kind == ExprKind::kLiteral) std::swap(read, other);
      if (other->kind != ExprKind::kLiteral || !other->value.is(Kind::kString)) return std::nullopt;
      c.any_of.emplace_back(other->value.as_text());
    } else if (e.op != Op::kIn || !text_list(*other, c.any_of)) {
      return std::nullopt;
    }
    auto path = path_of(*read);
    if (!path || !is_text(*read)) return std::nullopt;
    c.path = std::move(*path);
    std::sort(c.any_of.begin(), c.any_of.end());
    c.any_of.erase(std::unique(c.any_of.begin(), c.any_of.end()), c.any_of.end());
    return c;
  }

  void find_conditions(const Expr& root) {
    bool conjunction = root.kind == ExprKind::kLogic && root.op == Op::kAnd;
    const Expr* single = &root;
    std::span<const Expr* const> terms(&single, 1);
    if (conjunction) terms = {root.args.data(), root.args.size()};
    out_.only_conditions = true;
    for (const Expr* term : terms) {
      if (term->kind == ExprKind::kLogic && term->op == Op::kAnd) {
        bool before = out_.only_conditions;
        find_conditions(*term);
        out_.only_conditions &= before;
      } else if (auto c = condition_of(*term)) {
        out_.conditions.push_back(std::move(*c));
      } else {
        out_.only_conditions = false;
      }
    }
  }

  const Checked& checked_;
  Dependencies out_;
};

}  // namespace

bool Dependencies::reads(uint32_t slot) const {
  return std::binary_search(variables.begin(), variables.end(), slot);
}

bool Dependencies::reads(const FieldPath& path) const {
  return std::any_of(paths.begin(), paths.end(),
                     [&](const FieldPath& p) { return is_prefix(p, path) || is_prefix(path, p); });
}

Dependencies find_dependencies(const Ast& ast, const Checked& checked) {
  return Finder(checked).run(*ast.root);
}

}  // namespace ctrlplane::cel
