#include "cli/documents.h"

#include <iostream>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/json_text.h"
#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

Outcome<std::vector<Document>> read_paths(const std::vector<std::string>& paths,
                                          const std::string& input = {}) {
  std::istringstream in(input);
  SystemClock clock;
  Console console{.in = in,
                  .out = std::cout,
                  .err = std::cerr,
                  .environment = [](const char*) { return std::string(); },
                  .clock = clock,
                  .pause = [](Duration) {}};
  return read_documents(paths, console);
}
Outcome<std::vector<Document>> read(const std::string& text) { return read_paths({"-"}, text); }

std::string trouble(const std::string& text) {
  auto documents = read(text);
  if (documents) return "none";
  EXPECT_EQ(documents.error().exit_code, kWrongUse);
  return documents.error().message;
}

TEST(Documents, are_put_into_the_order_in_which_they_are_applied) {
  auto documents = read(R"(
type: Version
deployment: api
tag: 1.20
---
type: Resource
identifier: eu-1
kind: Cluster
version: v1
---
type: Deployment
name: api
systems: [shop]
---
type: Environment
name: prod
---
type: System
name: shop
---
type: System
name: billing
---
type: JobAgent
name: runner
agentType: http-pull
---
type: Policy
name: careful
---
type: ResourceProvider
name: aws
---
type: Workspace
slug: acme
name: Acme
)");
  ASSERT_TRUE(documents) << documents.error().message;
  std::vector<std::string> titles;
  for (const Document& d : *documents) titles.push_back(d.title());
  EXPECT_EQ(titles, (std::vector<std::string>{"workspace/acme", "provider/aws", "agent/runner", "system/shop",
                                              "system/billing", "policy/careful", "environment/prod",
                                              "deployment/api", "resource/eu-1", "version/api@1.20"}));
}

TEST(Documents, keep_texts_as_written_and_give_configurations_their_types) {
  auto documents = read(
      "{type: Deployment, name: 007, resourceSelector: true, jobTimeout: 90m, metadata: {a: 1.0, b: yes},"
      " jobAgentConfig: {n: 1, t: '1'}}");
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(
      compact_json(*documents->front().members),
      R"({"name":"007","resourceSelector":"true","jobTimeout":"PT1H30M","metadata":{"a":"1.0","b":"yes"},)"
      R"("jobAgentConfig":{"n":1,"t":"1"}})");
}

TEST(Documents, name_the_place_of_a_mistake_and_the_member_that_was_meant) {
  EXPECT_EQ(trouble("type: System\nname: a\n---\ntype: Environment\nname: prod\nresourceSelecter: 'true'\n"),
            "standard input, document 2, line 6: resourceSelecter: Environment has no such member "
            "(did you mean 'resourceSelector'?)");
  EXPECT_EQ(
      trouble("name: a\ntype: Sistem\n"),
      "standard input, document 1, line 2: type: 'Sistem' is none of Workspace, ResourceProvider, JobAgent, "
      "System, Policy, Environment, Deployment, Resource, Version (did you mean 'System'?)");
  EXPECT_EQ(trouble("type: System\n"),
            "standard input, document 1, line 1: name: is missing; every System must have it");
  EXPECT_EQ(trouble("type: System\nname: ''\n"),
            "standard input, document 1, line 2: name: must not be empty");
  EXPECT_EQ(trouble("type: System\nname:\n"),
            "standard input, document 1, line 2: name: has no value; write \"\" for an empty one");
  EXPECT_EQ(trouble("type: System\nname: a\nmetadata:\n  x: [1]\n"),
            "standard input, document 1, line 4: metadata.x: must be a text");
  EXPECT_EQ(trouble("type: Deployment\nname: a\njobTimeout: soon\n"),
            "standard input, document 1, line 3: jobTimeout: must be a duration like 30m or PT30M");
  EXPECT_EQ(trouble("type: Deployment\nname: a\nsystems: shop\n"),
            "standard input, document 1, line 3: systems: must be a list of names");
  EXPECT_EQ(trouble("type: Deployment\nname: a\nsystems: [s, s]\n"),
            "standard input, document 1, line 3: systems: has 's' twice");
  EXPECT_EQ(trouble("type: JobAgent\nname: a\nagentType: x\nconfig: [1]\n"),
            "standard input, document 1, line 4: config: must have members (name: value)");
  EXPECT_EQ(trouble("type: Policy\nname: a\nrules: {retry: {}}\n"),
            "standard input, document 1, line 3: rules: must be a list (each entry begins with '- ')");
  EXPECT_EQ(trouble("type: Policy\nname: a\nrules:\n- retry: {}\n- retry\n"),
            "standard input, document 1, line 5: rules[1]: must have members (name: value)");
  EXPECT_EQ(trouble("type: Policy\nname: a\npriority: high\n"),
            "standard input, document 1, line 3: priority: must be a whole number");
  EXPECT_EQ(trouble("type: Policy\nname: a\nenabled: maybe\n"),
            "standard input, document 1, line 3: enabled: must be true or false");
  EXPECT_EQ(trouble("type: System\nname: a\nname: b\n"),
            "standard input, document 1, line 3: has 'name' twice");
  EXPECT_EQ(trouble("- a\n"),
            "standard input, document 1, line 1: a document must have members (type: System, name: …)");
  EXPECT_NE(trouble("name: a\n").find("type: is missing; it is one of"), std::string::npos);
  EXPECT_EQ(trouble(""), "there is no document in what was given");
  EXPECT_EQ(trouble("---\n---\n"), "there is no document in what was given");
}

TEST(Documents, tell_all_mistakes_at_once) {
  auto documents = read("type: System\nnam: a\n---\ntype: Nothing\n---\n[");
  ASSERT_FALSE(documents);
  documents = read("type: System\nnam: a\n---\ntype: Nothing\n");
  ASSERT_FALSE(documents);
  EXPECT_EQ(documents.error().message, "3 mistakes; nothing was sent");
  EXPECT_EQ(documents.error().hints.size(), 3u);
}

TEST(Documents, may_not_describe_the_same_thing_twice) {
  EXPECT_EQ(trouble("type: System\nname: a\n---\ntype: System\nname: a\n"),
            "standard input, document 2, line 4: system/a is also in standard input, document 1, line 1");
  EXPECT_EQ(trouble("{type: Version, deployment: a, tag: x}\n---\n{type: Version, deployment: b, tag: x}"),
            "none");
}

TEST(Documents, come_from_files_and_folders) {
  TemporaryFolder folder;
  folder.write("b.yaml", "{type: System, name: b}");
  folder.write("a.yml", "{type: System, name: a}");
  folder.write("c.json", R"({"type": "System", "name": "c"})");
  folder.write("notes.txt", "not a document");
  folder.write("deeper/d.yaml", "{type: System, name: d}");
  auto documents = read_paths({folder.path()});
  ASSERT_TRUE(documents) << documents.error().message;
  std::string names;
  for (const Document& d : *documents) names += d.key();
  EXPECT_EQ(names, "abc");

  auto twice = read_paths({folder.path(), folder.path() + "/a.yml"});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("system/a is also in"), std::string::npos);
  auto missing = read_paths({folder.path() + "/nothing.yaml"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("cannot read"), std::string::npos);
  auto empty = read_paths({folder.path() + "/deeper/.."});
  EXPECT_TRUE(empty);
}

}  // namespace
}  // namespace ctrlplane::cli
