#include "cel/lib/regex.h"

#include <re2/re2.h>

#include "cel/lib/args.h"
#include "cel/lib/library.h"

namespace ctrlplane::cel {
namespace {

// Compiling is far dearer than anything else a step pays for.
constexpr uint64_t kCompileSteps = 200;

re2::StringPiece piece(std::string_view s) { return {s.data(), s.size()}; }

Value matches(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString, Kind::kString})) return ctx.no_overload("matches", args);
  std::string_view text = args[0].as_text(), pattern = args[1].as_text();
  if (!ctx.charge(kCompileSteps + pattern.size()) || !ctx.charge_bytes(text.size()))
    return ctx.out_of_steps();
  std::string why;
  auto regex = Regex::compile(pattern, &why);
  if (regex == nullptr) return ctx.fault(Fault::kInvalidArgument, "bad regular expression: " + why);
  return Value::boolean(regex->matches(text));
}

constexpr FunctionRow kRows[] = {
    {"matches", Style::kGlobal, matches, {"string, string -> bool"}},
    {"matches", Style::kMember, matches, {"string, string -> bool"}},
};

}  // namespace

std::span<const FunctionRow> regex_functions() { return kRows; }

struct Regex::Compiled {
  re2::RE2 re;
};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::~Regex() = default;

std::unique_ptr<Regex> Regex::compile(std::string_view pattern, std::string* why) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  std::unique_ptr<Compiled> compiled(new Compiled{{piece(pattern), options}});
  if (!compiled->re.ok()) {
    if (why != nullptr) *why = compiled->re.error();
    return nullptr;
  }
  return std::unique_ptr<Regex>(new Regex(std::move(compiled)));
}

bool Regex::matches(std::string_view text) const {
  return re2::RE2::PartialMatch(piece(text), compiled_->re);
}

const Regex* RegexSet::compile(std::string_view pattern, std::string* why) {
  for (const Item& item : items_)
    if (item.pattern == pattern) return item.regex.get();
  auto regex = Regex::compile(pattern, why);
  if (regex == nullptr) return nullptr;
  items_.push_back({std::string(pattern), std::move(regex)});
  return items_.back().regex.get();
}

}  // namespace ctrlplane::cel
