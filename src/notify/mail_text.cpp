#include "notify/mail_text.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/core.h>

namespace ctrlplane::notify {
namespace {

constexpr size_t kMaxPlainLine = 76;
constexpr size_t kMaxSubject = 500;  // bytes; longer ones are cut
constexpr size_t kWordBytes = 42;    // 56 of base64: an encoded word has at most 75 characters

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  int n =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(n));
  return out;
}

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The first so many bytes, whole characters.
std::string_view first_bytes(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end + 3 > most && is_inside_character(text[end])) --end;  // no further: it may not be UTF-8
  return text.substr(0, end);
}

bool is_plain(std::string_view line) {
  return std::ranges::all_of(line, [](unsigned char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string with_crlf(const std::vector<std::string_view>& lines) {
  std::string out;
  for (std::string_view line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.append(line).append("\r\n");
  }
  return out;
}

std::string in_base64(const std::string& text) {
  std::string all = base64(text), out;
  for (size_t at = 0; at < all.size(); at += kMaxPlainLine) out += all.substr(at, kMaxPlainLine) + "\r\n";
  return out;
}

}  // namespace

std::string header_text(std::string_view text) {
  std::string line(first_bytes(text, kMaxSubject));
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (is_plain(line) && line.find("=?") == std::string::npos) return line;
  std::string out;
  for (std::string_view rest = line; !rest.empty();) {
    std::string_view part = first_bytes(rest, kWordBytes);
    out += fmt::format("{}=?UTF-8?B?{}?=", out.empty() ? "" : "\r\n ", base64(part));
    rest.remove_prefix(part.size());
  }
  return out;
}

std::string mail_date(Time t) {
  using namespace std::chrono;
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  sys_seconds at{floor<std::chrono::seconds>(std::chrono::microseconds(t.us))};
  sys_days day = floor<days>(at);
  year_month_day date{day};
  hh_mm_ss clock{at - day};
  return fmt::format("{}, {} {} {} {:02}:{:02}:{:02} +0000", kDays[weekday{day}.c_encoding()],
                     static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count());
}

std::string mail_text(const MailDraft& draft) {
  std::string to;
  for (const std::string& address : draft.to) to += (to.empty() ? "" : ",\r\n ") + address;
  std::string domain = draft.from.substr(draft.from.find('@') + 1);
  auto lines = lines_of(draft.body);
  bool plain = std::ranges::all_of(
      lines, [](std::string_view line) { return line.size() <= kMaxPlainLine && is_plain(line); });
  return fmt::format(
             "From: ctrlplane <{}>\r\nTo: {}\r\nSubject: {}\r\nDate: {}\r\nMessage-ID: <{}@{}>\r\n"
             "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
             "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: {}\r\n\r\n",
             draft.from, to.empty() ? "undisclosed-recipients:;" : to, header_text(draft.subject),
             mail_date(draft.date), draft.id, domain, plain ? "7bit" : "base64") +
         (plain ? with_crlf(lines) : in_base64(with_crlf(lines)));
}

}  // namespace ctrlplane::notify
