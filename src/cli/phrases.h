// Pieces of what verbs say to people.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"

namespace ctrlplane::cli {

// A line of a heading: two spaces, the title, the text; nothing where the text is empty.
std::string titled_line(std::string_view title, const std::string& text);

// People read seconds; -o json has it all. What is no instant stays as it is.
std::string to_the_second(std::string_view instant);
// "2026-04-01T18:00:00Z (in 4h)"; what is no instant stays as it is.
std::string when_text(std::string_view instant, Time now);
// What has just been asked to last 4h does not show as 3h59m.
Duration rounded(Duration left);

// "1 target", "3 targets".
std::string count_text(std::string_view n, std::string_view thing);
std::string count_text(size_t n, std::string_view thing);

// "user:ann@example.com" as people call her.
std::string person(std::string name);

}  // namespace ctrlplane::cli
