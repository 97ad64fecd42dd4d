#include "cel/plan/planner.h"

#include <algorithm>
#include <limits>

#include "cel/plan/nodes.h"
#include "cel/value/clone.h"

namespace ctrlplane::cel {
namespace {

// All folding of one program together; what does not fit is left to run time.
constexpr uint64_t kFoldSteps = 100000;
constexpr size_t kFoldBytes = 2 * 1024 * 1024;
constexpr size_t kFoldedValueBytes = 512 * 1024;
constexpr size_t kFoldedTotalBytes = 2 * 1024 * 1024;
constexpr size_t kPlanBytes = size_t{256} << 20;
constexpr uint32_t kNoLocal = std::numeric_limits<uint32_t>::max();

struct Planned {
  Node* node = nullptr;
  bool open = false;                 // reads a variable, or failed to fold
  uint32_t lowest_local = kNoLocal;  // the outermost macro variable it reads
};

class Planner {
 public:
  Planner(const Ast& ast, const Checked& checked, bool fold)
      : checked_(checked),
        fold_(fold),
        arena_(std::make_unique<Arena>(kPlanBytes)),
        store_(*arena_),
        scratch_(kFoldBytes),
        root_(ast.root) {
    locals_.resize(checked.local_count + 1);
  }

  Plan run() {
    Planned p = plan(*root_);
    return {std::move(arena_), std::move(regexes_), p.node, checked_.local_count, std::move(diagnostics_)};
  }

 private:
  Planned plan(const Expr& e);
  Planned plan_kind(const Expr& e);
  Planned plan_path(const Expr& e);
  Planned plan_index(const Expr& e);
  Planned plan_call(const Expr& e);
  Planned plan_macro(const Expr& e);
  Planned unknown(const Expr& e, std::string_view what);
  // Plans the children and gathers what they read.
  std::vector<const Node*> plan_all(std::span<Expr* const> args, Planned& into);
  void join(Planned& into, const Planned& child, uint32_t& cost) {
    into.open |= child.open;
    into.lowest_local = std::min(into.lowest_local, child.lowest_local);
    cost = std::min<uint32_t>(cost + child.node->cost, 1u << 20);
  }
  void leave_scope(Planned& p, uint32_t first_local) {
    if (p.lowest_local >= first_local) p.lowest_local = kNoLocal;
  }
  void try_fold(Planned& p);
  const Resolution& resolution(const Expr& e) const { return checked_.resolutions[e.id]; }
  Value constant(const Value& v) {
    Value copied;
    return clone(*arena_, v, SIZE_MAX, copied) ? copied : Value::null();
  }

  const Checked& checked_;
  bool fold_;
  std::unique_ptr<Arena> arena_;
  Store store_;
  RegexSet regexes_;
  Arena scratch_;
  uint64_t steps_ = kFoldSteps;
  size_t folded_bytes_ = 0;
  std::vector<Value> locals_;
  std::vector<Diagnostic> diagnostics_;
  const Expr* root_;
  uint32_t cost_ = 0;  // of the children of the node being planned
};

Planned Planner::plan(const Expr& e) {
  uint32_t outer = std::exchange(cost_, 1);
  Planned p = plan_kind(e);
  p.node->position = e.position;
  p.node->cost = cost_;
  cost_ = outer;
  bool simple = e.kind == ExprKind::kLiteral || e.kind == ExprKind::kIdent;
  if (fold_ && !simple && !p.open && p.lowest_local == kNoLocal && p.node->constant() == nullptr) try_fold(p);
  return p;
}

void Planner::try_fold(Planned& p) {
  Frame frame{{scratch_, steps_}, {}, locals_.data(), nullptr};
  Value v = p.node->eval(frame);
  steps_ = std::max<uint64_t>(frame.steps_left, 1);
  Value copied;
  size_t before = arena_->bytes_used();
  bool folded =
      !v.is_error() && folded_bytes_ < kFoldedTotalBytes && clone(*arena_, v, kFoldedValueBytes, copied);
  folded_bytes_ += arena_->bytes_used() - before;
  if (folded) {
    Node* constant = store_.make<ConstantNode>(copied);
    constant->position = p.node->position;
    p.node = constant;
  } else {
    p.open = true;
  }
  scratch_.reset();
}

std::vector<const Node*> Planner::plan_all(std::span<Expr* const> args, Planned& into) {
  std::vector<const Node*> nodes;
  nodes.reserve(args.size());
  for (const Expr* arg : args) {
    Planned p = plan(*arg);
    join(into, p, cost_);
    nodes.push_back(p.node);
  }
  return nodes;
}

Planned Planner::unknown(const Expr& e, std::string_view what) {
  Planned p;
  std::string text = std::string(what) + " '" + std::string(resolution(e).text) + "'";
  p.node = store_.make<ErrorNode>(Value::error(Fault::kUnknownName, *store_.error_text(text), e.position));
  p.open = true;
  return p;
}

Planned Planner::plan_kind(const Expr& e) {
  Planned p;
  const Resolution& r = resolution(e);
  switch (r.kind) {
    case Resolution::Kind::kVariable:
      p.node = store_.make<SlotNode>(static_cast<uint32_t>(r.index));
      p.open = true;
      return p;
    case Resolution::Kind::kLocal:
      p.node = store_.make<LocalNode>(static_cast<uint32_t>(r.index));
      p.lowest_local = static_cast<uint32_t>(r.index);
      return p;
    case Resolution::Kind::kConstant:
      p.node = store_.make<ConstantNode>(Value::type(store_.text(r.text)));
      return p;
    case Resolution::Kind::kUnknown:
      return unknown(e, e.kind == ExprKind::kCall ? "unknown function" : "unknown name");
    default: break;
  }
  switch (e.kind) {
    case ExprKind::kLiteral:
    case ExprKind::kIdent: p.node = store_.make<ConstantNode>(constant(e.value)); return p;
    case ExprKind::kSelect: return plan_path(e);
    case ExprKind::kIndex: return plan_index(e);
    case ExprKind::kCall: return plan_call(e);
    case ExprKind::kMacro: return plan_macro(e);
    default: break;
  }
  std::vector<const Node*> args = plan_all(e.args, p);
  switch (e.kind) {
    case ExprKind::kUnary: p.node = make_unary(store_, e.op, args[0]); break;
    case ExprKind::kLogic: p.node = make_logic(store_, e.op, args); break;
    case ExprKind::kConditional: p.node = make_conditional(store_, args[0], args[1], args[2]); break;
    case ExprKind::kList: p.node = make_list(store_, args, e.entry_optional); break;
    case ExprKind::kMap: p.node = make_map(store_, args, e.entry_optional); break;
    default:
      p.node = e.op >= Op::kEq && e.op <= Op::kIn ? make_comparison(store_, e.op, args[0], args[1])
                                                  : make_binary(store_, e.op, args[0], args[1]);
  }
  return p;
}

// a.b['c'].d as one node: the chain of constant names down to whatever it starts from.
Planned Planner::plan_path(const Expr& e) {
  Planned p;
  if (e.has(Expr::kOptional)) {
    std::vector<const Node*> operand = plan_all(e.args, p);
    p.node = make_optional_select(store_, operand[0], store_.name(e.name, resolution(e).index));
    return p;
  }
  std::vector<Name> names;
  std::vector<uint32_t> positions;
  const Expr* at = &e;
  for (;;) {
    if (resolution(*at).kind != Resolution::Kind::kNone || at->has(Expr::kOptional)) break;
    bool select = at->kind == ExprKind::kSelect;
    bool index = at->kind == ExprKind::kIndex && at->args[1]->kind == ExprKind::kLiteral &&
                 at->args[1]->value.is(Kind::kString);
    if (!select && !index) break;
    std::string_view name = select ? at->name : at->args[1]->value.as_text();
    names.push_back(store_.name(name, resolution(*at).index));
    positions.push_back(at->position);
    at = at->args[0];
  }
  std::reverse(names.begin(), names.end());
  std::reverse(positions.begin(), positions.end());
  Planned operand = plan(*at);
  join(p, operand, cost_);
  p.node = make_path(store_, operand.node, names, positions);
  return p;
}

Planned Planner::plan_index(const Expr& e) {
  const Expr& key = *e.args[1];
  if (!e.has(Expr::kOptional) && key.kind == ExprKind::kLiteral && key.value.is(Kind::kString))
    return plan_path(e);
  Planned p;
  std::vector<const Node*> args = plan_all(e.args, p);
  p.node = make_index(store_, args[0], args[1], e.has(Expr::kOptional));
  return p;
}

Planned Planner::plan_call(const Expr& e) {
  const Resolution& r = resolution(e);
  if (r.function == nullptr || r.function->call == nullptr) {
    Planned p = unknown(e, "function without a definition");
    return p;
  }
  Planned p;
  std::vector<const Node*> args = plan_all(e.args.subspan(r.namespaced ? 1 : 0), p);
  if (r.function->name == "matches" && args.size() == 2 && args[1]->constant() != nullptr &&
      args[1]->constant()->is(Kind::kString)) {
    std::string why;
    if (regexes_.compile(args[1]->constant()->as_text(), &why) == nullptr)
      diagnostics_.push_back({e.args.back()->position, "bad regular expression: " + why});
  }
  p.node = make_call(store_, regexes_, *r.function, args);
  return p;
}

Planned Planner::plan_macro(const Expr& e) {
  Planned p;
  uint32_t local = static_cast<uint32_t>(resolution(e).index);
  if (e.macro == Macro::kHas) {
    const Expr& selected = *e.args[0];
    std::vector<const Node*> operand = plan_all(selected.args, p);
    p.node = make_has(store_, operand[0], store_.name(selected.name, resolution(selected).index));
    return p;
  }
  Planned range = plan(*e.args[0]);
  join(p, range, cost_);
  Planned inside;
  std::vector<const Node*> rest = plan_all(e.args.subspan(1), inside);
  leave_scope(inside, local);
  p.open |= inside.open;
  p.lowest_local = std::min(p.lowest_local, inside.lowest_local);
  switch (e.macro) {
    case Macro::kBind: p.node = make_bind(store_, range.node, rest[0], local); break;
    case Macro::kOptMap:
    case Macro::kOptFlatMap:
      p.node = make_optional_map(store_, range.node, rest[0], local, e.macro == Macro::kOptFlatMap);
      break;
    default: {
      Loop loop{range.node, rest.size() == 2 ? rest[0] : nullptr, rest.back(), local, !e.var2.empty()};
      p.node = make_comprehension(store_, e.macro, loop);
    }
  }
  return p;
}

}  // namespace

Plan make_plan(const Ast& ast, const Checked& checked, bool fold) {
  return Planner(ast, checked, fold).run();
}

}  // namespace ctrlplane::cel
