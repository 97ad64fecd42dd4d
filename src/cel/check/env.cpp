#include "cel/check/env.h"

#include <algorithm>

#include <fmt/core.h>

namespace ctrlplane::cel {

struct Env::State {
  TypePool types;
  std::deque<StructType> structs;
  std::vector<Variable> variables;
  Library functions;
  std::string container;
  bool dotted = false;
};

Env::Env() : state_(std::make_unique<State>()) {}
Env::~Env() = default;
Env::Env(Env&&) noexcept = default;
Env& Env::operator=(Env&&) noexcept = default;

Status Env::declare_struct(std::string_view name, const Fields& fields) {
  if (find_struct(name) != nullptr)
    return fail(ErrorCode::kInvalid, fmt::format("struct '{}' is declared twice", name));
  StructType type{std::string(name), {}};
  for (const auto& [field, text] : fields) {
    if (type.index_of(field) >= 0)
      return fail(ErrorCode::kInvalid, fmt::format("field '{}.{}' is declared twice", name, field));
    type.fields.push_back({field, TRY(parse_type(text, state_->types, state_->structs))});
  }
  state_->structs.push_back(std::move(type));
  return {};
}

Result<uint32_t> Env::declare(std::string_view name, std::string_view type) {
  if (find_variable(name) >= 0)
    return fail(ErrorCode::kInvalid, fmt::format("variable '{}' is declared twice", name));
  TypeRef parsed = TRY(parse_type(type, state_->types, state_->structs));
  state_->variables.push_back({std::string(name), parsed});
  state_->dotted |= name.find('.') != std::string_view::npos;
  return static_cast<uint32_t>(state_->variables.size() - 1);
}

Status Env::declare_function(std::string_view name, Style style, std::string_view signature, Function call) {
  return state_->functions.add(name, style, call, signature);
}

void Env::set_container(std::string_view container) { state_->container = container; }

const std::vector<Variable>& Env::variables() const { return state_->variables; }
std::string_view Env::container() const { return state_->container; }
bool Env::has_dotted_names() const { return state_->dotted; }

const StructType* Env::find_struct(std::string_view name) const {
  auto it = std::find_if(state_->structs.begin(), state_->structs.end(),
                         [&](const StructType& s) { return s.name == name; });
  return it == state_->structs.end() ? nullptr : &*it;
}

int32_t Env::find_variable(std::string_view name) const {
  const auto& all = state_->variables;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return static_cast<int32_t>(i);
  return -1;
}

const FunctionEntry* Env::find_function(std::string_view name, Style style) const {
  if (const FunctionEntry* own = state_->functions.find(name, style)) return own;
  return standard_library().find(name, style);
}

std::vector<std::string_view> Env::function_names(Style style) const {
  auto names = standard_library().names(style);
  auto own = state_->functions.names(style);
  names.insert(names.end(), own.begin(), own.end());
  return names;
}

}  // namespace ctrlplane::cel
