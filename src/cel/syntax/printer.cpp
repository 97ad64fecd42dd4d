#include <charconv>

#include <fmt/core.h>

#include "cel/syntax/ast.h"
#include "cel/value/compare.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

class Printer {
 public:
  explicit Printer(std::string& out) : out_(out) {}
  void print(const Expr& e);

 private:
  // An operand: in parentheses unless it is a primary, so that precedence never matters.
  void operand(const Expr& e) {
    bool bare = e.kind == ExprKind::kIdent || e.kind == ExprKind::kSelect || e.kind == ExprKind::kIndex ||
                e.kind == ExprKind::kCall || e.kind == ExprKind::kList || e.kind == ExprKind::kMap ||
                e.kind == ExprKind::kMacro || (e.kind == ExprKind::kLiteral && !e.value.is_number());
    if (!bare) out_ += '(';
    print(e);
    if (!bare) out_ += ')';
  }
  void list(std::span<Expr* const> args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (i != 0) out_ += ", ";
      print(*args[i]);
    }
  }
  void name(std::string_view n);
  void literal(const Value& v);
  void macro(const Expr& e);
  void collection(const Expr& e);

  std::string& out_;
};

// Generated names print as the calls that made them.
void Printer::name(std::string_view n) {
  if (n.starts_with("@index")) {
    out_.append("cel.index(").append(n.substr(6)).append(")");
  } else if (n.starts_with('@')) {
    size_t first = n.find(':'), second = n.find(':', first + 1);
    out_.append("cel.").append(n.substr(1, first - 1)).append("(");
    out_.append(n.substr(first + 1, second - first - 1)).append(", ");
    out_.append(n.substr(second + 1)).append(")");
  } else {
    out_ += n;
  }
}

void Printer::literal(const Value& v) {
  if (!v.is(Kind::kDouble)) {
    out_ += literal_text(v, SIZE_MAX);
    return;
  }
  std::string text = double_text(v.as_double());
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  out_ += text;
}

void Printer::macro(const Expr& e) {
  if (e.macro == Macro::kHas) {
    out_ += "has(";
    print(*e.args[0]);
    out_ += ")";
    return;
  }
  size_t first = 1;
  if (e.macro == Macro::kBind) {
    out_ += "cel.bind(";
    first = 0;
  } else {
    operand(*e.args[0]);
    out_.append(".").append(e.name).append("(");
  }
  name(e.var);
  if (!e.var2.empty()) {
    out_ += ", ";
    name(e.var2);
  }
  for (const Expr* arg : e.args.subspan(first)) {
    out_ += ", ";
    print(*arg);
  }
  out_ += ")";
}

void Printer::collection(const Expr& e) {
  bool map = e.kind == ExprKind::kMap;
  out_ += map ? '{' : '[';
  for (size_t i = 0; i < e.entry_optional.size(); ++i) {
    if (i != 0) out_ += ", ";
    if (e.entry_optional[i]) out_ += '?';
    print(*e.args[map ? 2 * i : i]);
    if (!map) continue;
    out_ += ": ";
    print(*e.args[2 * i + 1]);
  }
  out_ += map ? '}' : ']';
}

void Printer::print(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kLiteral: literal(e.value); break;
    case ExprKind::kIdent:
      if (e.has(Expr::kLeadingDot)) out_ += '.';
      name(e.name);
      break;
    case ExprKind::kSelect:
      operand(*e.args[0]);
      out_ += e.has(Expr::kOptional) ? ".?" : ".";
      if (e.has(Expr::kQuoted))
        out_.append("`").append(e.name).append("`");
      else
        out_ += e.name;
      break;
    case ExprKind::kIndex:
      operand(*e.args[0]);
      out_ += e.has(Expr::kOptional) ? "[?" : "[";
      print(*e.args[1]);
      out_ += ']';
      break;
    case ExprKind::kUnary:
      out_ += op_text(e.op);
      // A pair of one operator is a chain in the grammar; parentheses would start a new one.
      if (e.args[0]->kind == ExprKind::kUnary && e.args[0]->op == e.op)
        print(*e.args[0]);
      else
        operand(*e.args[0]);
      break;
    case ExprKind::kBinary:
    case ExprKind::kLogic:
      for (size_t i = 0; i < e.args.size(); ++i) {
        if (i != 0) out_.append(" ").append(op_text(e.op)).append(" ");
        operand(*e.args[i]);
      }
      break;
    case ExprKind::kConditional:
      operand(*e.args[0]);
      out_ += " ? ";
      operand(*e.args[1]);
      out_ += " : ";
      operand(*e.args[2]);
      break;
    case ExprKind::kCall: {
      bool member = e.has(Expr::kMember);
      if (member) {
        operand(*e.args[0]);
        out_ += '.';
      }
      out_.append(e.name).append("(");
      list(e.args.subspan(member ? 1 : 0));
      out_ += ')';
      break;
    }
    case ExprKind::kList:
    case ExprKind::kMap: collection(e); break;
    case ExprKind::kMacro: macro(e); break;
  }
}

// Literals count as the same only if their kinds are, unlike values in CEL.
bool same_literal(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::kString) || a.is(Kind::kBytes)) return a.as_text() == b.as_text();
  return a.as_uint() == b.as_uint();
}

}  // namespace

std::string print(const Expr& root) {
  std::string out;
  Printer(out).print(root);
  return out;
}

bool same_tree(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || a.op != b.op || a.macro != b.macro || a.flags != b.flags || a.name != b.name ||
      a.var != b.var || a.var2 != b.var2 || a.args.size() != b.args.size() || !same_literal(a.value, b.value))
    return false;
  for (size_t i = 0; i < a.entry_optional.size(); ++i)
    if (a.entry_optional[i] != b.entry_optional[i]) return false;
  for (size_t i = 0; i < a.args.size(); ++i)
    if (!same_tree(*a.args[i], *b.args[i])) return false;
  return true;
}

}  // namespace ctrlplane::cel
