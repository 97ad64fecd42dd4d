#include "notify/message.h"

namespace ctrlplane::notify {
namespace {

constexpr std::string_view kFrozen = R"({"type":"freeze.activated","audience":"deployers",
  "workspaceId":"00000000-0000-0000-0000-000000000001","at":"2026-01-02T03:04:05Z","actor":"user:ann@example.com",
  "note":"Errors","metadata":{},"freeze":{"id":"00000000-0000-0000-0000-00000000000f","scope":"environment",
  "scopeEntityId":"00000000-0000-0000-0000-00000000000e","reason":"Errors","selector":"resource.kind == 'A'",
  "incidentUrl":"https://incidents.example.com/1","expiresAt":"2026-01-02T07:04:05Z"},"ttlSeconds":14400})";

Message message(std::string_view payload) {
  auto m = read_message(payload);
  EXPECT_TRUE(m) << m.error().message;
  return m.value_or(Message{});
}

TEST(Message, says_what_was_frozen_why_by_whom_and_until_when) {
  Message m = message(kFrozen);
  EXPECT_EQ(m.type, "freeze.activated");
  EXPECT_EQ(m.audience, Audience::kDeployers);
  EXPECT_EQ(m.workspace.str(), "00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(m.headline, "Deployments frozen: Errors");
  EXPECT_EQ(m.facts, (std::vector<Fact>{{"Scope", "environment 00000000-0000-0000-0000-00000000000e"},
                                        {"Selector", "resource.kind == 'A'"},
                                        {"Reason", "Errors"},
                                        {"By", "ann@example.com"},
                                        {"Expires", "2026-01-02T07:04:05Z"},
                                        {"Time to live", "4 h"}}));
  EXPECT_EQ(m.incident_url, "https://incidents.example.com/1");
}

TEST(Message, as_plain_text_has_a_line_for_each_fact) {
  EXPECT_EQ(plain_text(message(kFrozen)),
            "Deployments are frozen.\n\n"
            "Scope: environment 00000000-0000-0000-0000-00000000000e\nSelector: resource.kind == 'A'\n"
            "Reason: Errors\nBy: ann@example.com\nExpires: 2026-01-02T07:04:05Z\nTime to live: 4 h\n"
            "Incident: https://incidents.example.com/1\n\n"
            "Workspace 00000000-0000-0000-0000-000000000001 · freeze 00000000-0000-0000-0000-00000000000f · "
            "2026-01-02T03:04:05Z\n");
}

TEST(Message, of_an_end_says_how_long_it_lasted_and_not_when_it_would_have_expired) {
  Message m = message(R"({"type":"freeze.thawed","actor":"user:bob@example.com","note":"fixed",
    "freeze":{"scope":"workspace","reason":"Errors","expiresAt":"2026-01-02T07:04:05Z"},
    "durationSeconds":3725,"ttlSeconds":7200})");
  EXPECT_EQ(m.facts, (std::vector<Fact>{{"Scope", "workspace"},
                                        {"Reason", "Errors"},
                                        {"By", "bob@example.com"},
                                        {"Note", "fixed"},
                                        {"Time to live", "2 h"},
                                        {"Lasted", "1 h 2 min"}}));
}

TEST(Message, of_a_bypass_names_the_version_and_who_published_it) {
  Message m = message(R"({"type":"freeze.bypassed","audience":"admins","freeze":{"scope":"workspace"},
    "metadata":{"tag":"v2","deploymentId":"d","createdBy":"user:eve@example.com"}})");
  EXPECT_EQ(m.audience, Audience::kAdmins);
  EXPECT_EQ(m.facts, (std::vector<Fact>{{"Scope", "workspace"},
                                        {"Version", "v2"},
                                        {"Deployment", "d"},
                                        {"Published by", "eve@example.com"}}));
}

constexpr std::string_view kStuck = R"({"type":"bracket.stuck","audience":"deployers",
  "workspaceId":"00000000-0000-0000-0000-000000000001","groupId":"00000000-0000-0000-0000-000000000002",
  "ruleId":"00000000-0000-0000-0000-000000000003","resourceId":"00000000-0000-0000-0000-000000000004",
  "resource":"node-3","note":"kubelet failed: no attempts are left","at":"2026-01-02T03:04:05Z"})";

TEST(Message, of_a_stuck_bracket_says_where_why_and_what_can_be_done) {
  Message m = message(kStuck);
  EXPECT_EQ(m.audience, Audience::kDeployers);
  EXPECT_EQ(m.headline, "Bracket stuck on node-3: kubelet failed: no attempts are left");
  EXPECT_EQ(
      plain_text(m),
      "A bracket group is stuck on node-3.\n\n"
      "Resource: node-3\nWhy: kubelet failed: no attempts are left\n"
      "What now: It keeps the resource and its slots until somebody retries it, leaves the member out or "
      "aborts it.\n\n"
      "Workspace 00000000-0000-0000-0000-000000000001 · bracket group "
      "00000000-0000-0000-0000-000000000002 · 2026-01-02T03:04:05Z\n");
}

TEST(Message, of_a_failed_bracket_tells_of_a_quarantine_only_where_there_is_one) {
  auto failed = [](std::string more) {
    return message(R"({"type":"bracket.failed","resource":"node-3","note":"aborted by ann")" + more + "}");
  };
  EXPECT_EQ(failed("").headline, "Bracket failed on node-3: aborted by ann");
  EXPECT_NE(plain_text(failed(R"(,"quarantined":true)")).find("cleared its quarantine"), std::string::npos);
  EXPECT_EQ(failed(R"(,"quarantined":false)").facts,
            (std::vector<Fact>{
                {"Resource", "node-3"},
                {"Why", "aborted by ann"},
                {"What now", "Its versions are not tried again there before there is a newer one."}}));
}

TEST(Message, of_a_bracket_whose_members_are_missing_or_hostile_is_still_a_line) {
  EXPECT_EQ(message(R"({"type":"bracket.stuck"})").headline, "Bracket stuck");
  EXPECT_EQ(message(R"({"type":"bracket.stuck","resource":1,"note":["x"],"groupId":{}})").headline,
            "Bracket stuck");
  Message m = message(R"({"type":"bracket.stuck","resource":"a\r\nBcc: eve","note":"b\u0000c"})");
  EXPECT_EQ(subject_of(m), "[ctrlplane] Bracket stuck on a  Bcc: eve: b c");
}

TEST(Message, has_words_for_every_type_and_for_one_it_does_not_know) {
  std::set<std::string> headlines;
  for (std::string type :
       {"freeze.activated", "freeze.extended", "freeze.thawed", "freeze.expired", "freeze.expiring_soon",
        "freeze.bypassed", "bracket.stuck", "bracket.failed", "test"}) {
    Message m = message(R"({"type":")" + type + R"("})");
    EXPECT_NE(m.headline, type);
    EXPECT_TRUE(headlines.insert(m.headline).second) << m.headline;
  }
  EXPECT_EQ(message(R"({"type":"new.kind"})").headline, "new.kind");
}

TEST(Message, has_a_subject_of_one_line_whatever_the_reason_is) {
  Message m =
      message(R"({"type":"freeze.activated","freeze":{"reason":"a\r\nBcc: eve@example.com\u0000b"}})");
  EXPECT_EQ(subject_of(m), "[ctrlplane] Deployments frozen: a  Bcc: eve@example.com b");
}

TEST(Message, links_only_to_the_web) {
  for (std::string url : {"javascript:alert(1)", "ftp://x", "https://a b", "", "x"})
    EXPECT_EQ(message(R"({"type":"t","freeze":{"incidentUrl":")" + url + R"("}})").incident_url, "") << url;
}

TEST(Message, is_refused_without_a_type) {
  for (std::string bad : {"", "{", "[]", "1", "{}", R"({"type":1})", R"({"type":""})"})
    EXPECT_FALSE(read_message(bad)) << bad;
}

TEST(Message, reads_members_of_another_type_as_absent) {
  Message m = message(R"({"type":"freeze.activated","freeze":[],"metadata":1,"at":{},"ttlSeconds":"x"})");
  EXPECT_TRUE(m.facts.empty());
}

TEST(DurationWords, are_the_two_largest_units) {
  EXPECT_EQ(duration_words(0), "0 s");
  EXPECT_EQ(duration_words(-5), "0 s");
  EXPECT_EQ(duration_words(59), "59 s");
  EXPECT_EQ(duration_words(300), "5 min");
  EXPECT_EQ(duration_words(3661), "1 h 1 min");
  EXPECT_EQ(duration_words(90061), "1 d 1 h");
  EXPECT_EQ(duration_words(86405), "1 d 5 s");
}

}  // namespace
}  // namespace ctrlplane::notify
