#include "store/output.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

namespace ctrlplane::store {
namespace {

constexpr int64_t kLastOffset = int64_t{1} << 50;  // far beyond any output, far from overflow
constexpr int64_t kRowsPerPage = 64;

bool continues_a_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The first `at` bytes of `text`, or up to three fewer so as not to end inside a character.
size_t cut_at(std::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  for (size_t back = 0; back < 4 && back < at; ++back)
    if (!continues_a_character(text[at - back])) return at - back;
  return at;  // no UTF-8: anywhere is as good
}

// Drops what lies before `from`, and the rest of a character that is cut by it.
void drop_before(OutputChunk& chunk, int64_t from) {
  if (chunk.offset >= from) return;
  auto n = static_cast<size_t>(std::min<int64_t>(from - chunk.offset, std::ssize(chunk.text)));
  for (int i = 0; i < 3 && n < chunk.text.size() && continues_a_character(chunk.text[n]); ++i) ++n;
  chunk.text.erase(0, n);
  chunk.offset += static_cast<int64_t>(n);
}

}  // namespace

Result<std::vector<OutputChunk>> output_pieces(std::span<const OutputChunk> chunks) {
  std::map<std::pair<JobId, int64_t>, std::string_view> pieces;
  for (const OutputChunk& c : chunks) {
    if (c.offset < 0 || c.offset > kLastOffset)
      return invalid("offset", fmt::format("must be between 0 and {}", kLastOffset));
    std::string_view rest = c.text;
    for (int64_t at = c.offset; !rest.empty();) {
      const size_t n = cut_at(rest, static_cast<size_t>(kOutputPiece));
      pieces[{c.job, at}] = rest.substr(0, n);
      rest.remove_prefix(n);
      at += static_cast<int64_t>(n);
    }
  }
  std::vector<OutputChunk> out;
  for (const auto& [key, text] : pieces) out.push_back({key.first, key.second, std::string(text)});
  return out;
}

Result<std::vector<OutputChunk>> collect_output(int64_t from, int64_t max_bytes, const OutputPage& page) {
  std::vector<OutputChunk> out;
  from = std::clamp<int64_t>(from, 0, kLastOffset);
  int64_t end = from, bytes = 0;  // read up to here; so much
  for (int64_t after = from - kOutputPiece;;) {
    std::vector<OutputChunk> stored = TRY(page(after, kRowsPerPage));
    for (OutputChunk& c : stored) {
      after = c.offset;
      drop_before(c, end);
      if (c.text.empty()) continue;
      bytes += std::ssize(c.text);
      if (bytes > max_bytes && !out.empty()) return out;
      end = c.offset + std::ssize(c.text);
      out.push_back(std::move(c));
    }
    if (std::ssize(stored) < kRowsPerPage) return out;
  }
}

std::string append_output_sql(Dialect dialect, size_t rows) {
  std::string values;
  for (size_t i = 0; i < rows; ++i)
    values += fmt::format("{}($1, ${}, ${}, ${})", i ? ", " : "", 3 * i + 2, 3 * i + 3, 3 * i + 4);
  return with_parameters(dialect,
                         fmt::format("INSERT INTO job_output (workspace_id, job_id, at_offset, text) "
                                     "VALUES {} ON CONFLICT (workspace_id, job_id, at_offset) "
                                     "DO UPDATE SET text = excluded.text "
                                     "WHERE length(excluded.text) >= length(job_output.text)",
                                     values));
}

std::string trim_output_sql(Dialect dialect) {
  const std::string tail = fmt::format(
      "(SELECT at_offset + length(text) - {} FROM job_output WHERE workspace_id = $1 AND job_id = $2 "
      "ORDER BY at_offset DESC LIMIT 1)",
      kOutputHalf);
  return with_parameters(
      dialect,
      fmt::format("DELETE FROM job_output WHERE workspace_id = $1 AND job_id = $2 AND at_offset >= {0} "
                  "AND at_offset < {1} AND at_offset + length(text) <= {1}",
                  kOutputHalf, tail));
}

std::string read_output_sql(Dialect dialect) {
  return with_parameters(dialect,
                         "SELECT at_offset, text FROM job_output WHERE workspace_id = $1 AND job_id = $2 "
                         "AND at_offset > $3 ORDER BY at_offset LIMIT $4");
}

}  // namespace ctrlplane::store
