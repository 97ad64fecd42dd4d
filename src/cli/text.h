// Text for a terminal, and words that are nearly right.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ctrlplane::cli {

// Without control characters and broken UTF-8, each replaced by '?': names come from other people and must
// not move the cursor.
std::string printable(std::string_view text);

// Code points; wide ones count once.
size_t columns_of(std::string_view text);
// The first `columns` of them, the last one an ellipsis if anything was left out.
std::string cut_to(std::string_view text, size_t columns);

// The word that was probably meant; empty if none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);
// " (did you mean 'x'?)" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

bool is_uuid(std::string_view text);
// At least four hexadecimal digits, with dashes where a UUID has them.
bool is_id_prefix(std::string_view text);
std::string lower(std::string_view text);

}  // namespace ctrlplane::cli
