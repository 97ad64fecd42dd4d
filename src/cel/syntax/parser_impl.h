// The parser's state, shared by parser.cpp (grammar) and macros.cpp.
#pragma once

#include <string>
#include <vector>

#include "cel/syntax/ast.h"
#include "cel/syntax/lexer.h"
#include "cel/syntax/parser.h"

namespace ctrlplane::cel {

// Every parse function returns null once something failed; error() then says what, and nobody
// overwrites the first complaint.
class Parser {
 public:
  Parser(std::string_view source, const ParseOptions& options);
  Expr* parse_all();
  Ast take_ast(Expr* root) { return {std::move(arena_), root, next_id_}; }
  Diagnostic& error() { return error_; }

 private:
  // parser.cpp
  Expr* parse_expr();
  Expr* parse_binary(int min_precedence);
  Expr* parse_logic(Expr* first, Op op, int precedence);
  Expr* parse_unary();
  Expr* parse_member();
  Expr* parse_select(Expr* target);
  Expr* parse_index(Expr* target);
  Expr* parse_primary();
  Expr* parse_ident();
  Expr* parse_list();
  Expr* parse_map();
  Expr* parse_number(bool negative, uint32_t position);
  Expr* parse_text();
  bool parse_args(Tok close, std::vector<Expr*>& args, std::vector<bool>* optional);
  Expr* finish_call(uint32_t position, std::string_view name, Expr* target, const std::vector<Expr*>& args);

  // macros.cpp
  // The macro this call is, or null with *matched false if it is an ordinary call.
  Expr* expand_macro(uint32_t position, std::string_view name, Expr* target, const std::vector<Expr*>& args,
                     bool* matched);
  Expr* make_has(uint32_t position, const std::vector<Expr*>& args);
  Expr* make_cel_macro(uint32_t position, std::string_view name, const std::vector<Expr*>& args,
                       bool* matched);
  Expr* make_block(uint32_t position, const std::vector<Expr*>& args);
  bool variable_name(const Expr* e, std::string_view macro, std::string_view* out);

  Expr* make(ExprKind kind, uint32_t position, const std::vector<Expr*>& args);
  Expr* make_literal(uint32_t position, const Value& value);
  std::nullptr_t fail(uint32_t offset, std::string message);
  std::nullptr_t fail_unexpected(std::string_view wanted);
  bool expect(Tok kind, std::string_view wanted);
  bool accept(Tok kind);
  void advance() { token_ = lexer_.next(); }
  std::string_view store(std::string_view text);

  const char* source_begin_;
  Lexer lexer_;
  ParseOptions options_;
  std::unique_ptr<Arena> arena_;
  Token token_;
  uint32_t next_id_ = 0;
  uint32_t nesting_ = 0;
  bool failed_ = false;
  Diagnostic error_;
};

}  // namespace ctrlplane::cel
