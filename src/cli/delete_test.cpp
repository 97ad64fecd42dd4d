#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

TEST(Delete, asks_on_a_terminal) {
  FakeServer server;
  server.add("systems", R"({"name":"shop"})");
  auto r = run_at(server, {"delete", "system", "shop"}, {.input = "n\n", .terminal = true});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("  system/shop\ndelete it? [y/N] "), std::string::npos) << r.err;
  EXPECT_TRUE(server.writes().empty());
  EXPECT_EQ(run_at(server, {"delete", "system", "shop"}, {.terminal = true}).code, 1);
  r = run_at(server, {"delete", "system", "shop"}, {.input = "yes\n", .terminal = true});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "system/shop deleted\n");
  EXPECT_EQ(server.count("systems"), 0u);
}

TEST(Delete, without_a_terminal_needs_to_be_told_that_it_is_meant) {
  FakeServer server;
  server.add("systems", R"({"name":"shop"})");
  auto r = run_at(server, {"delete", "system", "shop"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--yes"), std::string::npos);
  EXPECT_TRUE(server.writes().empty());
  EXPECT_EQ(run_at(server, {"delete", "system", "shop", "--dry-run"}).out, "system/shop would be deleted\n");
  EXPECT_TRUE(server.writes().empty());
  EXPECT_EQ(run_at(server, {"delete", "system", "shop", "--yes"}).code, 0);
}

TEST(Delete, deletes_nothing_unless_all_are_found) {
  FakeServer server;
  server.add("resources", R"({"identifier":"a/b"})");
  auto r = run_at(server, {"delete", "resources", "a/b", "c", "--yes"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 404 no resource 'c' in workspace 'acme'\n");
  EXPECT_TRUE(server.writes().empty());
  r = run_at(server, {"delete", "resources", "a/b", "a/b", "--yes"});
  EXPECT_EQ(r.out, "resource/a/b deleted\n");
  EXPECT_EQ(server.writes().back(), "DELETE /api/v1/workspaces/acme/resources/identifier/a%2Fb");
}

TEST(Delete, goes_on_after_a_refusal) {
  FakeServer server;
  std::string a = server.add("systems", R"({"name":"a"})");
  server.add("systems", R"({"name":"b"})");
  server.refuse("DELETE /api/v1/workspaces/acme/systems/" + a, 409, R"({"message":"in use"})");
  auto r = run_at(server, {"delete", "systems", "a", "b", "--yes"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "system/b deleted\n");
  EXPECT_EQ(r.err, "system/a failed: 409 in use\nctrlplane: 1 of 2 were not deleted\n");
}

TEST(Delete, of_a_file_goes_backwards_and_minds_not_what_is_gone) {
  FakeServer server;
  std::string text =
      "{type: System, name: shop}\n---\n{type: Deployment, name: api, systems: [shop]}\n---\n"
      "{type: Version, deployment: api, tag: '1'}";
  run_at(server, {"apply", "-f", "-"}, {.input = text});
  auto r = run_at(server, {"delete", "-f", "-", "--yes"}, {.input = text});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "deployment/api deleted\nsystem/shop deleted\n");
  r = run_at(server, {"delete", "-f", "-", "--yes"}, {.input = text});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "system/shop is not there\ndeployment/api is not there\n");
}

TEST(Delete, of_a_file_with_its_workspace_never_reaches_into_another) {
  FakeServer server;
  server.add("systems", R"({"name":"shop"})");  // of acme
  auto r = run_at(server, {"delete", "-f", "-", "--yes"},
                  {.input = "{type: Workspace, slug: gone, name: Gone}\n---\n{type: System, name: shop}"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "workspace/gone is not there\nsystem/shop is not there\n");
  EXPECT_TRUE(server.writes().empty());
}

TEST(Delete, needs_to_know_what) {
  FakeServer server;
  EXPECT_EQ(run_at(server, {"delete", "--yes"}).code, 2);
  EXPECT_EQ(run_at(server, {"delete", "system", "--yes"}).code, 2);
  EXPECT_EQ(run_at(server, {"delete", "job", "x", "--yes"}).code, 2);
  EXPECT_EQ(run_at(server, {"delete", "system", "x", "-f", "y", "--yes"}).code, 2);
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace ctrlplane::cli
