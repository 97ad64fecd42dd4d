#include "state/selector.h"

#include <cctype>
#include <optional>

#include <fmt/core.h>

namespace ctrlplane {

struct Selector::Parser {
  std::string_view text;
  Subject subject;
  size_t at = 0;
  std::optional<Error> error;

  std::string_view root() const { return subject == Subject::kResource ? "resource" : "jobAgent"; }

  void blanks() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  }
  bool take(std::string_view word) {
    blanks();
    if (text.substr(at, word.size()) != word) return false;
    at += word.size();
    return true;
  }
  bool at_end() { return blanks(), at == text.size(); }
  bool complain(std::string message) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < text.size(); ++i) {
      if (text[i] == '\n') ++line, column = 0;
      ++column;
    }
    if (!error) error = Error{ErrorCode::kInvalid, fmt::format("{}:{}: {}", line, column, message)};
    return false;
  }
  std::string identifier() {
    blanks();
    size_t from = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
    return std::string(text.substr(from, at - from));
  }
  bool literal(std::string& out) {
    blanks();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"')) return complain("expected a string in quotes");
    char quote = text[at++];
    while (at < text.size() && text[at] != quote) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      out += text[at++];
    }
    if (at >= text.size()) return complain("string is not closed");
    ++at;
    return true;
  }

  bool field(Term& term, const std::string& name) {
    bool resource = subject == Subject::kResource;
    if (name == "name") return term.field = Field::kName, true;
    if (name == "kind" && resource) return term.field = Field::kKind, true;
    if (name == "version" && resource) return term.field = Field::kVersion, true;
    if (name == "identifier" && resource) return term.field = Field::kIdentifier, true;
    if (name == "type" && !resource) return term.field = Field::kType, true;
    if (name != "metadata") return complain(fmt::format("{} has no field '{}'", root(), name));
    term.field = Field::kMetadata;
    if (take(".")) return term.key = identifier(), !term.key.empty() || complain("expected a metadata key");
    if (!take("[")) return complain("metadata needs a key: metadata['key']");
    return literal(term.key) && (take("]") || complain("expected ]"));
  }

  bool term(Selector& out) {
    if (take("true")) return true;
    if (take("false")) return out.never_ = true, true;
    size_t start = (blanks(), at);
    if (std::string name = identifier(); name != root()) {
      at = start;
      return complain(fmt::format("unknown name '{}': this selector is about '{}'", name, root()));
    }
    Term t{};
    if (!take(".") || !field(t, identifier())) return complain(fmt::format("expected a field of {}", root()));
    if (!take("==")) return complain("expected ==");
    if (!literal(t.value)) return false;
    out.terms_.push_back(std::move(t));
    return true;
  }
};

Result<Selector> Selector::compile(std::string_view text, Subject subject) {
  Parser p{text, subject};
  Selector out;
  bool ok = p.term(out);
  while (ok && p.take("&&")) ok = p.term(out);
  if (ok && !p.at_end()) ok = p.complain(p.take("AND") ? "use && instead of AND" : "expected && or the end");
  if (!ok) return std::unexpected(*p.error);
  return out;
}

namespace {

const std::string* plain_field(const Resource& r, int field) {
  switch (field) {
    case 0: return &r.name;
    case 1: return &r.kind;
    case 2: return &r.version;
    case 3: return &r.identifier;
    default: return nullptr;
  }
}
const std::string* plain_field(const JobAgent& a, int field) {
  return field == 0 ? &a.name : field == 4 ? &a.type : nullptr;
}

}  // namespace

template <class E>
Match Selector::match_terms(const E& e) const {
  if (never_) return Match::kNo;
  for (const Term& t : terms_) {
    const std::string* have =
        t.field == Field::kMetadata ? e.metadata.find(t.key) : plain_field(e, static_cast<int>(t.field));
    if (!have) return Match::kMissingKey;
    if (*have != t.value) return Match::kNo;
  }
  return Match::kYes;
}

Match Selector::match(const Resource& r) const { return match_terms(r); }
Match Selector::match(const JobAgent& a) const { return match_terms(a); }

}  // namespace ctrlplane
