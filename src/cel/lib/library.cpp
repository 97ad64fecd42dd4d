#include "cel/lib/library.h"

#include <algorithm>

#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/core.h>

#include "base/check.h"

namespace ctrlplane::cel {
namespace {

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

// Splits at the commas outside parentheses.
std::vector<std::string_view> split_types(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int open = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++open;
    if (i < text.size() && text[i] == ')') --open;
    if (i < text.size() && (text[i] != ',' || open != 0)) continue;
    if (auto part = trimmed(text.substr(start, i - start)); !part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return hash_text(s); }
};

using Index =
    boost::unordered_flat_map<std::string, std::unique_ptr<FunctionEntry>, TextHash, std::equal_to<>>;

}  // namespace

struct Library::State {
  TypePool types;
  std::array<Index, 2> entries;  // by Style

  Index& of(Style style) { return entries[static_cast<size_t>(style)]; }
};

Library::Library() : state_(std::make_unique<State>()) {}
Library::~Library() = default;
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;

Status Library::add(const FunctionRow& row) {
  for (std::string_view signature : row.signatures)
    if (auto s = signature.empty() ? Status{} : add(row.name, row.style, row.call, signature); !s) return s;
  return {};
}

Status Library::add(std::string_view name, Style style, Function call, std::string_view signature) {
  size_t arrow = signature.find("->");
  if (arrow == std::string_view::npos)
    return fail(ErrorCode::kInvalid, fmt::format("signature of {} has no '->'", name));
  Overload overload;
  for (std::string_view part : split_types(signature.substr(0, arrow))) {
    if (part.ends_with("...")) {
      overload.variadic = true;
      part.remove_suffix(3);
    }
    overload.params.push_back(TRY(parse_type(part, state_->types)));
  }
  overload.result = TRY(parse_type(trimmed(signature.substr(arrow + 2)), state_->types));
  auto& entry = state_->of(style)[std::string(name)];
  if (entry == nullptr)
    entry = std::make_unique<FunctionEntry>(FunctionEntry{std::string(name), style, call, {}});
  entry->overloads.push_back(std::move(overload));
  return {};
}

const FunctionEntry* Library::find(std::string_view name, Style style) const {
  const Index& index = state_->of(style);
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second.get();
}

std::vector<std::string_view> Library::names(Style style) const {
  std::vector<std::string_view> out;
  for (const auto& [name, entry] : state_->of(style)) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

const Library& standard_library() {
  static const Library kLibrary = [] {
    Library library;
    for (auto family : {core_functions(), conversion_functions(), string_functions(), format_functions(),
                        math_functions(), list_functions(), set_functions(), encoder_functions(),
                        time_functions(), regex_functions(), optional_functions(), network_functions()}) {
      for (const FunctionRow& row : family) CHECK(library.add(row).has_value(), row.name);
    }
    return library;
  }();
  return kLibrary;
}

}  // namespace ctrlplane::cel
