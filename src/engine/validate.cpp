#include "engine/validate.h"

#include <fmt/core.h>

#include "base/text.h"

namespace ctrlplane {

Status on_instance(const State& state, std::string_view what) {
  if (state.id() == kInstanceWorkspace) return {};
  return fail(ErrorCode::kInvalid, fmt::format("{} on the instance", what));
}

Status optional_text(std::string_view path, std::string_view value, size_t max) {
  if (value.size() > max) return invalid(std::string(path), fmt::format("is longer than {} bytes", max));
  if (!is_storable_text(value)) return invalid(std::string(path), "must be UTF-8 text without NUL");
  return {};
}

Status required_text(std::string_view path, std::string_view value, size_t max) {
  if (value.empty()) return invalid(std::string(path), "must not be empty");
  return optional_text(path, value, max);
}

Status valid_metadata(std::string_view path, const Metadata& metadata) {
  size_t total = 0;
  for (const auto& [key, value] : metadata) {
    // A key that is no text cannot stand in the answer either.
    if (auto ok = required_text(path, key); !ok)
      return invalid(std::string(path), "a key " + ok.error().details.front().message);
    TRY(optional_text(fmt::format("{}['{}']", path, key), value));
    total += key.size() + value.size();
  }
  if (total > kMaxDocument)
    return invalid(std::string(path), fmt::format("is larger than {} bytes", kMaxDocument));
  return {};
}

Status valid_document(std::string_view path, const Json& document) {
  return optional_text(path, document.text(), kMaxDocument);
}

Status valid_selector(std::string_view path, const std::optional<std::string>& text,
                      Selector::Subject subject) {
  if (!text || text->empty()) return {};
  TRY(optional_text(path, *text));
  auto compiled = Selector::compile(*text, subject);
  if (!compiled) return invalid(std::string(path), compiled.error().message);
  return {};
}

}  // namespace ctrlplane
