// Checks of form that several commands share. Each names the member it is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/json.h"
#include "model/metadata.h"
#include "state/selector.h"
#include "state/state.h"

namespace ctrlplane {

inline constexpr size_t kMaxName = 255;
inline constexpr size_t kMaxIdentifier = 1024;
inline constexpr size_t kMaxText = 16 * 1024;
inline constexpr size_t kMaxDocument = 1024 * 1024;

// kInvalid "<what> on the instance" in any other workspace.
Status on_instance(const State& state, std::string_view what);

Status required_text(std::string_view path, std::string_view value, size_t max = kMaxName);
Status optional_text(std::string_view path, std::string_view value, size_t max = kMaxText);
Status valid_metadata(std::string_view path, const Metadata& metadata);
Status valid_document(std::string_view path, const Json& document);
Status valid_selector(std::string_view path, const std::optional<std::string>& text,
                      Selector::Subject subject);

}  // namespace ctrlplane
