#include "sim/expression.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"

namespace ctrlplane::sim {
namespace {

Truth truth(bool b) { return b ? Truth::kTrue : Truth::kFalse; }

class Reader {
 public:
  Reader(std::string_view text, const Facts& facts) : text_(text), facts_(facts) {}

  Truth whole() {
    Truth t = either();
    CHECK(at_ == text_.size(), text_);
    return t;
  }

 private:
  // What decides on one side makes what is missing on the other irrelevant.
  Truth either() {
    Truth t = both();
    while (take("||")) {
      Truth next = both();
      if (t == Truth::kTrue || next == Truth::kTrue)
        t = Truth::kTrue;
      else if (t == Truth::kFalse)
        t = next;
    }
    return t;
  }
  Truth both() {
    Truth t = one();
    while (take("&&")) {
      Truth next = one();
      if (t == Truth::kFalse || next == Truth::kFalse)
        t = Truth::kFalse;
      else if (t == Truth::kTrue)
        t = next;
    }
    return t;
  }
  Truth one() {
    if (take("!")) {
      Truth t = one();
      return t == Truth::kMissing ? t : truth(t == Truth::kFalse);
    }
    if (take("(")) {
      Truth t = either();
      must_take(")");
      return t;
    }
    if (take("true")) return Truth::kTrue;
    if (take("false")) return Truth::kFalse;
    if (next_is('\'')) {
      std::string_view key = literal();
      must_take("in");
      std::string_view subject = word();
      must_take(".");
      CHECK(word() == "metadata", text_);
      return truth(metadata(subject).find(key) != nullptr);
    }
    return comparison();
  }
  Truth comparison() {
    std::string_view subject = word();
    must_take(".");
    std::string_view member = word();
    const std::string* value = nullptr;
    if (member == "metadata") {
      must_take("[");
      value = metadata(subject).find(literal());
      must_take("]");
    } else {
      value = field(subject, member);
      CHECK(value, text_);
    }
    bool is = false;
    if (take("==")) {
      std::string_view other = literal();
      is = value && *value == other;
    } else if (take("!=")) {
      std::string_view other = literal();
      is = value && *value != other;
    } else if (take("in")) {
      is = among(value);
    } else {
      must_take(".");
      std::string_view method = word();
      must_take("(");
      std::string_view part = literal();
      must_take(")");
      CHECK(method == "startsWith" || method == "endsWith", text_);
      is = value && (method == "startsWith" ? value->starts_with(part) : value->ends_with(part));
    }
    return value ? truth(is) : Truth::kMissing;
  }
  bool among(const std::string* value) {
    bool found = false;
    must_take("[");
    do {
      std::string_view other = literal();
      found |= value && *value == other;
    } while (take(","));
    must_take("]");
    return found;
  }

  const Metadata& metadata(std::string_view subject) const {
    if (subject == "resource" && facts_.resource) return facts_.resource->metadata;
    if (subject == "environment" && facts_.environment) return facts_.environment->metadata;
    if (subject == "deployment" && facts_.deployment) return facts_.deployment->metadata;
    CHECK(subject == "version" && facts_.version, text_);
    return facts_.version->metadata;
  }
  const std::string* field(std::string_view subject, std::string_view member) const {
    if (subject == "version" && member == "tag" && facts_.version) return &facts_.version->tag;
    if (subject == "resource" && member == "kind" && facts_.resource) return &facts_.resource->kind;
    if (member != "name") return nullptr;
    if (subject == "resource" && facts_.resource) return &facts_.resource->name;
    if (subject == "environment" && facts_.environment) return &facts_.environment->name;
    if (subject == "deployment" && facts_.deployment) return &facts_.deployment->name;
    return nullptr;
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool next_is(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    if (token == "!" && text_.substr(at_).starts_with("!=")) return false;
    at_ += token.size();
    skip_blanks();
    return true;
  }
  void must_take(std::string_view token) { CHECK(take(token), text_); }
  std::string_view word() {
    size_t from = at_;
    while (at_ < text_.size() && ((text_[at_] | 0x20) >= 'a' && (text_[at_] | 0x20) <= 'z')) ++at_;
    std::string_view found = text_.substr(from, at_ - from);
    skip_blanks();
    return found;
  }
  std::string_view literal() {
    must_take("'");
    size_t end = text_.find('\'', at_);
    CHECK(end != std::string_view::npos, text_);
    std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    skip_blanks();
    return found;
  }

  std::string_view text_;
  const Facts& facts_;
  size_t at_ = 0;
};

}  // namespace

Truth evaluate(std::string_view expression, const Facts& facts) { return Reader(expression, facts).whole(); }

}  // namespace ctrlplane::sim
