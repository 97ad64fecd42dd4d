#include "notify/slack.h"

#include <algorithm>

#include <fmt/core.h>

#include "model/json_writer.h"

namespace ctrlplane::notify {
namespace {

// Of Slack's own limits (150, 2000, 10), with room for what escaping and a heading add.
constexpr size_t kMaxHeader = 140;
constexpr size_t kMaxField = 400;
constexpr size_t kMaxLink = 2000;
constexpr size_t kMaxFields = 10;

// So many bytes, whole characters.
std::string cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "…";
}

// Slack reads &, < and > as the beginnings of its own; with them gone a text can name no channel and no
// person.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  return out;
}

std::string link(std::string_view url, std::string_view words) {
  std::string out = "<";
  for (char c : url) switch (c) {
      case '<': out += "%3C"; break;
      case '>': out += "%3E"; break;
      case '|': out += "%7C"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  return fmt::format("{}|{}>", out, words);
}

void write_text(JsonWriter& w, std::string_view type, std::string_view text) {
  w.open().member("type", type).member("text", text).close();
}

void write_section(JsonWriter& w, std::string_view text) {
  w.open().member("type", "section").key("text");
  write_text(w, "mrkdwn", text);
  w.close();
}

void write_fields(JsonWriter& w, const std::vector<Fact>& facts) {
  w.open().member("type", "section").key("fields").open_array();
  for (size_t i = 0; i < std::min(facts.size(), kMaxFields); ++i)
    write_text(w, "mrkdwn", fmt::format("*{}*\n{}", facts[i].name, escaped(cut(facts[i].value, kMaxField))));
  w.close_array().close();
}

}  // namespace

std::string slack_body(const Message& m) {
  JsonWriter w;
  w.open().member("text", escaped(cut(subject_of(m), kMaxField))).key("blocks").open_array();
  w.open().member("type", "header").key("text");
  write_text(w, "plain_text", cut(m.headline, kMaxHeader));
  w.close();
  m.facts.empty() ? write_section(w, escaped(m.sentence)) : write_fields(w, m.facts);
  if (!m.incident_url.empty() && m.incident_url.size() <= kMaxLink)
    write_section(w, link(m.incident_url, "Incident"));
  w.open().member("type", "context").key("elements").open_array();
  write_text(w, "mrkdwn", escaped(cut(m.context, kMaxField)));
  w.close_array().close();
  return w.close_array().close().take();
}

}  // namespace ctrlplane::notify
