#include "notify/slack.h"

#include <boost/json.hpp>

namespace ctrlplane::notify {
namespace {

namespace bj = boost::json;

bj::object slack(const Message& m) { return bj::parse(slack_body(m)).as_object(); }

std::vector<std::string> types(const bj::object& body) {
  std::vector<std::string> all;
  for (const auto& block : body.at("blocks").as_array()) all.emplace_back(block.at("type").as_string());
  return all;
}

std::string text_at(const bj::value& v) { return std::string(v.at("text").as_string()); }

Message a_message() {
  return {.type = "freeze.activated",
          .headline = "Deployments frozen: Errors",
          .facts = {{"Scope", "workspace"}, {"Reason", "Errors"}},
          .incident_url = "https://example.com/1?a=b&c=d",
          .context = "Workspace w"};
}

TEST(Slack, has_a_header_fields_a_link_and_a_context_line) {
  bj::object body = slack(a_message());
  EXPECT_EQ(body.at("text"), "[ctrlplane] Deployments frozen: Errors");
  ASSERT_EQ(types(body), (std::vector<std::string>{"header", "section", "section", "context"}));
  const auto& blocks = body.at("blocks").as_array();
  EXPECT_EQ(blocks[0].at("text").at("type"), "plain_text");
  EXPECT_EQ(text_at(blocks[0].at("text")), "Deployments frozen: Errors");
  ASSERT_EQ(blocks[1].at("fields").as_array().size(), 2u);
  EXPECT_EQ(text_at(blocks[1].at("fields").as_array()[1]), "*Reason*\nErrors");
  EXPECT_EQ(text_at(blocks[2].at("text")), "<https://example.com/1?a=b&amp;c=d|Incident>");
  EXPECT_EQ(text_at(blocks[3].at("elements").as_array()[0]), "Workspace w");
}

TEST(Slack, says_what_can_be_done_about_a_stuck_bracket) {
  auto m =
      read_message(R"({"type":"bracket.stuck","resource":"node-<3>","note":"kubelet failed","groupId":"g"})");
  ASSERT_TRUE(m);
  bj::object body = slack(*m);
  const auto& fields = body.at("blocks").as_array()[1].at("fields").as_array();
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(text_at(fields[0]), "*Resource*\nnode-&lt;3&gt;");
  EXPECT_EQ(text_at(fields[1]), "*Why*\nkubelet failed");
  EXPECT_NE(text_at(fields[2]).find("retries it"), std::string::npos);
}

TEST(Slack, says_a_sentence_where_there_are_no_facts_because_fields_may_not_be_empty) {
  bj::object body = slack({.type = "test", .headline = "Test message", .sentence = "It is.", .context = "c"});
  ASSERT_EQ(types(body), (std::vector<std::string>{"header", "section", "context"}));
  EXPECT_EQ(text_at(body.at("blocks").as_array()[1].at("text")), "It is.");
}

TEST(Slack, takes_nothing_in_a_message_as_a_mention_or_a_link) {
  Message m = a_message();
  m.facts = {{"Reason", "<!channel> & <https://evil.example|click>"}};
  m.headline = "<!here>";
  m.incident_url = "https://example.com/|x><!channel>";
  bj::object body = slack(m);
  EXPECT_EQ(body.at("text"), "[ctrlplane] &lt;!here&gt;");
  const auto& blocks = body.at("blocks").as_array();
  EXPECT_EQ(text_at(blocks[1].at("fields").as_array()[0]),
            "*Reason*\n&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt;");
  EXPECT_EQ(text_at(blocks[2].at("text")), "<https://example.com/%7Cx%3E%3C!channel%3E|Incident>");
}

TEST(Slack, has_no_part_longer_than_slack_takes_and_cuts_no_character) {
  Message m = a_message();
  std::string euros;
  for (int i = 0; i < 5000; ++i) euros += "€";
  m.headline = euros;
  m.facts.assign(30, {"Reason", std::string(5000, '&')});
  m.facts[0].value = "x" + euros;
  m.context = "xx" + euros;
  bj::object body = slack(m);  // parsing refuses what is not UTF-8
  const auto& blocks = body.at("blocks").as_array();
  EXPECT_LE(text_at(blocks[0].at("text")).size(), 150u);
  EXPECT_EQ(blocks[1].at("fields").as_array().size(), 10u);
  for (const auto& field : blocks[1].at("fields").as_array()) EXPECT_LE(text_at(field).size(), 2100u);
}

}  // namespace
}  // namespace ctrlplane::notify
