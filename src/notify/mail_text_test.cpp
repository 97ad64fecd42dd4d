#include "notify/mail_text.h"

namespace ctrlplane::notify {
namespace {

MailDraft a_draft() {
  return {.from = "ctrlplane@example.com",
          .to = {"a@example.com", "b@example.com"},
          .subject = "Deployments frozen",
          .body = "One\n.\nThree\n",
          .id = "0189",
          .date = Time{1668534540'000000}};
}

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> all;
  for (size_t at; (at = text.find("\r\n")) != text.npos; text.remove_prefix(at + 2))
    all.emplace_back(text.substr(0, at));
  EXPECT_EQ(text, "");
  return all;
}

TEST(MailText, has_the_headers_of_a_mail_nobody_should_answer) {
  EXPECT_EQ(mail_text(a_draft()),
            "From: ctrlplane <ctrlplane@example.com>\r\nTo: a@example.com,\r\n b@example.com\r\n"
            "Subject: Deployments frozen\r\nDate: Tue, 15 Nov 2022 17:49:00 +0000\r\n"
            "Message-ID: <0189@example.com>\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
            "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n"
            "One\r\n.\r\nThree\r\n");
}

TEST(MailText, names_no_recipients_where_none_are_to_be_shown) {
  MailDraft draft = a_draft();
  draft.to.clear();
  EXPECT_NE(mail_text(draft).find("\r\nTo: undisclosed-recipients:;\r\n"), std::string::npos);
}

TEST(MailText, cannot_be_given_a_header_by_its_subject) {
  MailDraft draft = a_draft();
  draft.subject = "x\r\nBcc: eve@example.com\r\n\r\nbody";
  for (const std::string& line : lines(mail_text(draft))) EXPECT_FALSE(line.starts_with("Bcc")) << line;
  draft.subject += "ü";
  for (const std::string& line : lines(mail_text(draft))) EXPECT_FALSE(line.starts_with("Bcc")) << line;
}

TEST(MailText, encodes_what_is_not_ascii_and_what_only_looks_encoded) {
  EXPECT_EQ(header_text("plain: text"), "plain: text");
  EXPECT_EQ(header_text("a\r\nb"), "a  b");
  EXPECT_EQ(header_text("Größe"), "=?UTF-8?B?R3LDtsOfZQ==?=");
  EXPECT_EQ(header_text("=?UTF-8?B?eA==?="), "=?UTF-8?B?PT9VVEYtOD9CP2VBPT0/PQ==?=");
  EXPECT_EQ(header_text(""), "");
}

TEST(MailText, folds_a_long_subject_between_characters) {
  std::string subject;
  for (int i = 0; i < 100; ++i) subject += "€";
  auto words = lines(header_text(subject) + "\r\n");
  EXPECT_EQ(words.size(), 8u);  // 14 characters of three bytes in each
  for (const std::string& word : words) EXPECT_LE(word.size(), 76u);
}

TEST(MailText, ends_with_a_subject_that_is_not_utf8) {
  EXPECT_FALSE(header_text(std::string(1000, '\x80')).empty());
}

TEST(MailText, has_short_lines_whatever_the_body_is) {
  for (std::string body : {std::string(5000, 'x'), std::string("Größe\n"),
                           std::string("a\x01"
                                       "b\n")}) {
    MailDraft draft = a_draft();
    draft.body = body;
    std::string text = mail_text(draft);
    EXPECT_NE(text.find("Content-Transfer-Encoding: base64"), std::string::npos);
    for (const std::string& line : lines(text)) EXPECT_LE(line.size(), 100u);
  }
}

TEST(MailText, writes_dates_as_mail_does) {
  EXPECT_EQ(mail_date(Time{0}), "Thu, 1 Jan 1970 00:00:00 +0000");
  EXPECT_EQ(mail_date(Time{1709251199'500000}), "Thu, 29 Feb 2024 23:59:59 +0000");
}

}  // namespace
}  // namespace ctrlplane::notify
