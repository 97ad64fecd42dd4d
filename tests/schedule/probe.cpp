// Answers lines `zone <tab> anchor <tab> rrule <tab> from <tab> count` with the first `count` starts after
// `from`, as instants apart by blanks, or with `refused <path>: <message>`. In the rule `\n` stands for a new
// line.
//
// The starts found forwards are also looked for backwards; if they differ the answer begins with `backwards`.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <string>
#include <vector>

#include "schedule/recurrence.h"
#include "schedule/starts.h"

namespace {

using namespace ctrlplane;

std::vector<std::string> split(const std::string& line, char at) {
  std::vector<std::string> out(1);
  for (char c : line) {
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::string with_new_lines(std::string text) {
  for (size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n"))
    text.replace(at, 2, "\n");
  return text;
}

std::string listed(const std::vector<Time>& times) {
  std::string out;
  for (Time t : times) out += (out.empty() ? "" : " ") + format_rfc3339(t);
  return out;
}

std::vector<Time> backwards(const schedule::Starts& starts, Time after, Time to, size_t most) {
  std::vector<Time> out;
  for (auto t = starts.last_in(after, to); t && out.size() < most;
       t = starts.last_in(after, *t - microseconds(1)))
    out.push_back(*t);
  std::ranges::reverse(out);
  return out;
}

std::string answer(const std::vector<std::string>& fields) {
  auto anchor = parse_rfc3339(fields[1]), from = parse_rfc3339(fields[3]);
  int count = 0;
  std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), count);
  if (!anchor || !from || count <= 0) return "malformed";
  std::string rrule = with_new_lines(fields[2]);
  // So short that no two windows touch.
  auto rule = schedule::Recurrence::make({rrule, microseconds(1), fields[0], *anchor});
  if (!rule) return "refused " + rule.error().message;

  std::vector<Time> found;
  Time at = *from;
  while (static_cast<int>(found.size()) < count) {
    auto window = rule->next_after(at);
    if (!window) break;
    found.push_back(at = window->start);
  }
  if (found.empty()) return "";
  auto starts = schedule::Starts::make(rrule, fields[0], *anchor);
  auto back = backwards(*starts, *from, found.back(), found.size() + 1);
  if (back != found) return "backwards " + listed(back) + " but forwards " + listed(found);
  return listed(found);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    auto fields = split(line, '\t');
    std::cout << (fields.size() == 5 ? answer(fields) : "malformed") << std::endl;
  }
}
