#include "cel/syntax/parser.h"

#include <charconv>
#include <new>

#include <fmt/core.h>

#include "base/check.h"
#include "cel/syntax/parser_impl.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

struct BinaryOp {
  Op op = Op::kNone;
  int precedence = 0;
};

constexpr int kOrPrecedence = 1;
constexpr int kAndPrecedence = 2;

BinaryOp binary_op(Tok t) {
  switch (t) {
    case Tok::kOr: return {Op::kOr, kOrPrecedence};
    case Tok::kAnd: return {Op::kAnd, kAndPrecedence};
    case Tok::kEq: return {Op::kEq, 3};
    case Tok::kNe: return {Op::kNe, 3};
    case Tok::kLt: return {Op::kLt, 3};
    case Tok::kLe: return {Op::kLe, 3};
    case Tok::kGt: return {Op::kGt, 3};
    case Tok::kGe: return {Op::kGe, 3};
    case Tok::kIn: return {Op::kIn, 3};
    case Tok::kPlus: return {Op::kAdd, 4};
    case Tok::kMinus: return {Op::kSub, 4};
    case Tok::kStar: return {Op::kMul, 5};
    case Tok::kSlash: return {Op::kDiv, 5};
    case Tok::kPercent: return {Op::kMod, 5};
    default: return {};
  }
}

// For a word where an operator should be.
std::string_view operator_hint(std::string_view word) {
  if (word == "AND" || word == "and" || word == "And") return "use && for 'and'";
  if (word == "OR" || word == "or" || word == "Or") return "use || for 'or'";
  if (word == "NOT" || word == "not") return "use ! for 'not'";
  if (word == "is" || word == "IS" || word == "eq" || word == "equals") return "use == to compare";
  if (word == "IN" || word == "In") return "write 'in' in lower case";
  if (word == "contains" || word == "startsWith" || word == "endsWith" || word == "matches")
    return "call it on the text: a.contains('b')";
  return {};
}

}  // namespace

std::string_view op_text(Op op) {
  switch (op) {
    case Op::kNone: return "";
    case Op::kAdd: return "+";
    case Op::kSub: return "-";
    case Op::kMul: return "*";
    case Op::kDiv: return "/";
    case Op::kMod: return "%";
    case Op::kEq: return "==";
    case Op::kNe: return "!=";
    case Op::kLt: return "<";
    case Op::kLe: return "<=";
    case Op::kGt: return ">";
    case Op::kGe: return ">=";
    case Op::kIn: return "in";
    case Op::kAnd: return "&&";
    case Op::kOr: return "||";
    case Op::kNot: return "!";
    case Op::kNegate: return "-";
  }
  return "";
}

std::expected<Ast, Diagnostic> parse(std::string_view source, const ParseOptions& options) {
  if (source.size() > options.limits.max_source_bytes) {
    return std::unexpected(Diagnostic{
        0, fmt::format("the expression is longer than {} bytes", options.limits.max_source_bytes)});
  }
  if (!is_valid_utf8(source)) return std::unexpected(Diagnostic{0, "the text is not valid UTF-8"});
  Parser parser(source, options);
  Expr* root = parser.parse_all();
  if (root == nullptr) return std::unexpected(std::move(parser.error()));
  return parser.take_ast(root);
}

// A token gives at most one node and a share of one span, so memory is bounded by the source.
Parser::Parser(std::string_view source, const ParseOptions& options)
    : source_begin_(source.data()),
      lexer_(source),
      options_(options),
      arena_(std::make_unique<Arena>(size_t{options.limits.max_source_bytes} * 1024 + (1u << 20))) {
  advance();
}

Expr* Parser::parse_all() {
  if (token_.kind == Tok::kEnd) return fail(token_.offset, "the expression is empty");
  Expr* e = parse_expr();
  if (e == nullptr) return nullptr;
  if (token_.kind != Tok::kEnd) return fail_unexpected("an operator or the end");
  return e;
}

std::nullptr_t Parser::fail(uint32_t offset, std::string message) {
  if (!failed_) error_ = {offset, std::move(message)};
  failed_ = true;
  return nullptr;
}

std::nullptr_t Parser::fail_unexpected(std::string_view wanted) {
  if (token_.kind == Tok::kError) return fail(lexer_.error_offset(), lexer_.error());
  if (token_.kind == Tok::kEnd)
    return fail(token_.offset, fmt::format("the expression ends where {} should be", wanted));
  std::string_view written = token_.text.substr(0, 40);
  if (std::string_view h = operator_hint(token_.text); token_.kind == Tok::kIdent && !h.empty())
    return fail(token_.offset, fmt::format("unexpected '{}': {}", written, h));
  return fail(token_.offset, fmt::format("unexpected '{}', wanted {}", written, wanted));
}

bool Parser::accept(Tok kind) {
  if (token_.kind != kind) return false;
  advance();
  return true;
}

bool Parser::expect(Tok kind, std::string_view wanted) {
  if (accept(kind)) return true;
  fail_unexpected(wanted);
  return false;
}

std::string_view Parser::store(std::string_view text) {
  std::string_view s = arena_->copy(text);
  CHECK(s.data() != nullptr);
  return s;
}

Expr* Parser::make(ExprKind kind, uint32_t position, const std::vector<Expr*>& args) {
  void* memory = arena_->allocate(sizeof(Expr));
  Expr** stored = arena_->allocate_array<Expr*>(args.size());
  CHECK(memory != nullptr && stored != nullptr);
  Expr* e = new (memory) Expr;
  e->kind = kind;
  e->position = position;
  e->id = next_id_++;
  for (size_t i = 0; i < args.size(); ++i) {
    stored[i] = args[i];
    e->depth = std::max(e->depth, args[i]->depth + 1);
  }
  e->args = {stored, args.size()};
  if (e->depth > options_.limits.max_depth)
    return fail(position,
                fmt::format("more than {} operations within each other", options_.limits.max_depth));
  return e;
}

Expr* Parser::make_literal(uint32_t position, const Value& value) {
  Expr* e = make(ExprKind::kLiteral, position, {});
  if (e != nullptr) e->value = value;
  return e;
}

Expr* Parser::parse_expr() {
  if (++nesting_ > options_.limits.max_nesting) {
    return fail(token_.offset, fmt::format("more than {} levels of nesting", options_.limits.max_nesting));
  }
  Expr* e = parse_binary(kOrPrecedence);
  if (e != nullptr && token_.kind == Tok::kQuestion) {
    uint32_t position = token_.offset;
    advance();
    Expr* yes = parse_binary(kOrPrecedence);
    if (yes == nullptr || !expect(Tok::kColon, "':' of 'a ? b : c'")) return nullptr;
    Expr* no = parse_expr();
    if (no == nullptr) return nullptr;
    e = make(ExprKind::kConditional, position, {e, yes, no});
  }
  --nesting_;
  return e;
}

Expr* Parser::parse_binary(int min_precedence) {
  Expr* left = parse_unary();
  while (left != nullptr) {
    BinaryOp op = binary_op(token_.kind);
    if (op.op == Op::kNone || op.precedence < min_precedence) return left;
    if (op.precedence <= kAndPrecedence) {
      left = parse_logic(left, op.op, op.precedence);
      continue;
    }
    uint32_t position = token_.offset;
    advance();
    Expr* right = parse_binary(op.precedence + 1);
    if (right == nullptr) return nullptr;
    left = make(ExprKind::kBinary, position, {left, right});
    if (left != nullptr) left->op = op.op;
  }
  return nullptr;
}

// A whole chain of one logical operator becomes one node, so that long lists of conditions are
// flat.
Expr* Parser::parse_logic(Expr* first, Op op, int precedence) {
  uint32_t position = token_.offset;
  std::vector<Expr*> terms{first};
  while (binary_op(token_.kind).op == op) {
    advance();
    Expr* term = parse_binary(precedence + 1);
    if (term == nullptr) return nullptr;
    terms.push_back(term);
  }
  Expr* e = make(ExprKind::kLogic, position, terms);
  if (e != nullptr) e->op = op;
  return e;
}

Expr* Parser::parse_unary() {
  Tok kind = token_.kind;
  if (kind != Tok::kNot && kind != Tok::kMinus) return parse_member();
  uint32_t position = token_.offset;
  uint32_t count = 0;
  for (; token_.kind == kind; ++count) {
    position = token_.offset;
    advance();
  }
  Expr* e;
  bool number = token_.kind == Tok::kInt || token_.kind == Tok::kDouble;
  if (kind == Tok::kMinus && number) {
    --count;
    e = parse_number(true, position);
    while (e != nullptr && (token_.kind == Tok::kDot || token_.kind == Tok::kLBracket))
      e = token_.kind == Tok::kDot ? parse_select(e) : parse_index(e);
  } else {
    e = parse_member();
  }
  // Two of a kind cancel each other; one pair stays, so that the operand is still type-checked.
  for (count = count > 2 ? 2 - count % 2 : count; e != nullptr && count > 0; --count) {
    e = make(ExprKind::kUnary, position, {e});
    if (e != nullptr) e->op = kind == Tok::kNot ? Op::kNot : Op::kNegate;
  }
  return e;
}

Expr* Parser::parse_member() {
  Expr* e = parse_primary();
  while (e != nullptr) {
    if (token_.kind == Tok::kDot)
      e = parse_select(e);
    else if (token_.kind == Tok::kLBracket)
      e = parse_index(e);
    else
      break;
  }
  return e;
}

Expr* Parser::parse_select(Expr* target) {
  advance();
  bool optional = accept(Tok::kQuestion);
  uint32_t position = token_.offset;
  std::string_view name = token_.text;
  bool quoted = token_.kind == Tok::kQuotedIdent;
  if (!quoted && token_.kind != Tok::kIdent) return fail_unexpected("a field or function name");
  advance();
  if (!quoted && !optional && token_.kind == Tok::kLParen) {
    advance();
    std::vector<Expr*> args;
    if (!parse_args(Tok::kRParen, args, nullptr)) return nullptr;
    return finish_call(position, name, target, args);
  }
  Expr* e = make(ExprKind::kSelect, position, {target});
  if (e == nullptr) return nullptr;
  e->name = name;
  e->flags = static_cast<uint8_t>((optional ? Expr::kOptional : 0) | (quoted ? Expr::kQuoted : 0));
  return e;
}

Expr* Parser::parse_index(Expr* target) {
  uint32_t position = token_.offset;
  advance();
  bool optional = accept(Tok::kQuestion);
  Expr* index = parse_expr();
  if (index == nullptr || !expect(Tok::kRBracket, "']'")) return nullptr;
  Expr* e = make(ExprKind::kIndex, position, {target, index});
  if (e != nullptr && optional) e->flags = Expr::kOptional;
  return e;
}

bool Parser::parse_args(Tok close, std::vector<Expr*>& args, std::vector<bool>* optional) {
  while (token_.kind != close) {
    if (optional != nullptr) optional->push_back(accept(Tok::kQuestion));
    Expr* arg = parse_expr();
    if (arg == nullptr) return false;
    args.push_back(arg);
    if (!accept(Tok::kComma)) break;
    // Lists may end in a comma, argument lists not.
    if (token_.kind == close && optional == nullptr) {
      fail_unexpected("an argument");
      return false;
    }
  }
  return expect(close, close == Tok::kRParen ? "',' or ')'" : "',' or ']'");
}

Expr* Parser::finish_call(uint32_t position, std::string_view name, Expr* target,
                          const std::vector<Expr*>& args) {
  if (options_.macros) {
    bool matched = false;
    Expr* macro = expand_macro(position, name, target, args, &matched);
    if (matched) return macro;
  }
  std::vector<Expr*> all;
  if (target != nullptr) all.push_back(target);
  all.insert(all.end(), args.begin(), args.end());
  Expr* e = make(ExprKind::kCall, position, all);
  if (e == nullptr) return nullptr;
  e->name = name;
  if (target != nullptr) e->flags = Expr::kMember;
  return e;
}

Expr* Parser::parse_primary() {
  uint32_t position = token_.offset;
  switch (token_.kind) {
    case Tok::kIdent:
    case Tok::kDot: return parse_ident();
    case Tok::kInt:
    case Tok::kUint:
    case Tok::kDouble: return parse_number(false, position);
    case Tok::kString:
    case Tok::kBytes: return parse_text();
    case Tok::kTrue: advance(); return make_literal(position, Value::boolean(true));
    case Tok::kFalse: advance(); return make_literal(position, Value::boolean(false));
    case Tok::kNull: advance(); return make_literal(position, Value::null());
    case Tok::kLBracket: return parse_list();
    case Tok::kLBrace: return parse_map();
    case Tok::kLParen: {
      advance();
      Expr* e = parse_expr();
      if (e == nullptr || !expect(Tok::kRParen, "')'")) return nullptr;
      return e;
    }
    case Tok::kQuotedIdent: return fail(position, "backticks are for fields: write a.`b-c`");
    default: return fail_unexpected("a value");
  }
}

Expr* Parser::parse_ident() {
  bool leading_dot = accept(Tok::kDot);
  uint32_t position = token_.offset;
  std::string_view name = token_.text;
  if (token_.kind != Tok::kIdent) return fail_unexpected("a name");
  if (is_reserved_word(name)) return fail(position, fmt::format("'{}' is a reserved word", name));
  advance();
  if (token_.kind == Tok::kLParen) {
    advance();
    std::vector<Expr*> args;
    if (!parse_args(Tok::kRParen, args, nullptr)) return nullptr;
    return finish_call(position, name, nullptr, args);
  }
  if (token_.kind == Tok::kLBrace)
    return fail(token_.offset, "there are no message types here; write a map: {'field': value}");
  if (name == "NOT" || name == "not") {
    if (token_.kind != Tok::kEnd && binary_op(token_.kind).op == Op::kNone && token_.kind != Tok::kDot &&
        token_.kind != Tok::kRParen)
      return fail(position, fmt::format("unexpected '{}': use ! for 'not'", name));
  }
  Expr* e = make(ExprKind::kIdent, position, {});
  if (e == nullptr) return nullptr;
  e->name = name;
  if (leading_dot) e->flags = Expr::kLeadingDot;
  return e;
}

Expr* Parser::parse_list() {
  uint32_t position = token_.offset;
  advance();
  std::vector<Expr*> items;
  std::vector<bool> optional;
  if (!parse_args(Tok::kRBracket, items, &optional)) return nullptr;
  Expr* e = make(ExprKind::kList, position, items);
  if (e == nullptr) return nullptr;
  bool* flags = arena_->allocate_array<bool>(items.size());
  CHECK(flags != nullptr);
  for (size_t i = 0; i < items.size(); ++i) flags[i] = optional[i];
  e->entry_optional = {flags, items.size()};
  return e;
}

Expr* Parser::parse_map() {
  uint32_t position = token_.offset;
  advance();
  std::vector<Expr*> parts;
  std::vector<bool> optional;
  while (token_.kind != Tok::kRBrace) {
    optional.push_back(accept(Tok::kQuestion));
    Expr* key = parse_expr();
    if (key == nullptr || !expect(Tok::kColon, "':' after the key")) return nullptr;
    Expr* value = parse_expr();
    if (value == nullptr) return nullptr;
    parts.push_back(key);
    parts.push_back(value);
    if (!accept(Tok::kComma)) break;
  }
  if (!expect(Tok::kRBrace, "',' or '}'")) return nullptr;
  Expr* e = make(ExprKind::kMap, position, parts);
  if (e == nullptr) return nullptr;
  bool* flags = arena_->allocate_array<bool>(optional.size());
  CHECK(flags != nullptr);
  for (size_t i = 0; i < optional.size(); ++i) flags[i] = optional[i];
  e->entry_optional = {flags, optional.size()};
  return e;
}

Expr* Parser::parse_number(bool negative, uint32_t position) {
  Token t = token_;
  advance();
  std::string_view digits = t.text;
  if (t.kind == Tok::kDouble) {
    double d = 0;
    auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), d);
    // Too small is zero; too large is refused by the language.
    if (ec == std::errc::result_out_of_range) {
      bool tiny = digits.find("e-") != std::string_view::npos ||
                  digits.find("E-") != std::string_view::npos || digits.starts_with("0.");
      if (!tiny) return fail(position, "the number is too large for a double");
      d = 0;
    }
    return make_literal(position, Value::real(negative ? -d : d));
  }
  if (t.kind == Tok::kUint) digits.remove_suffix(1);
  int base = 10;
  if (digits.size() > 2 && (digits[1] | 0x20) == 'x') base = 16, digits.remove_prefix(2);
  uint64_t u = 0;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), u, base);
  uint64_t limit = t.kind == Tok::kUint ? UINT64_MAX : uint64_t{INT64_MAX} + (negative ? 1 : 0);
  if (ec != std::errc() || u > limit)
    return fail(position, fmt::format("{}{} does not fit 64 bits", negative ? "-" : "", t.text));
  if (t.kind == Tok::kUint) return make_literal(position, Value::unsigned_integer(u));
  return make_literal(position, Value::integer(static_cast<int64_t>(negative ? 0 - u : u)));
}

Expr* Parser::parse_text() {
  Token t = token_;
  advance();
  bool bytes = t.kind == Tok::kBytes;
  std::string_view text = t.text;
  if (!t.raw && text.find('\\') != std::string_view::npos) {
    std::string plain;
    EscapeError error;
    if (!unescape(text, bytes, plain, error)) {
      // From the literal's first character to the escape: its quotes count too.
      uint32_t quotes = static_cast<uint32_t>(t.text.data() - source_begin_) - t.offset;
      return fail(t.offset + quotes + static_cast<uint32_t>(error.offset), error.message);
    }
    text = store(plain);
  }
  return make_literal(t.offset, bytes ? Value::bytes(text) : Value::string(text));
}

}  // namespace ctrlplane::cel
