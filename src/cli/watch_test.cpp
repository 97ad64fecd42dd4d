#include "cli/watch.h"

#include <stdlib.h>
#include <time.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

// How these verbs end here: nothing else makes them.
constexpr const char* kReaderGone = "ctrlplane: the output could not be written\n";

std::string commit(int seq, const std::string& entity, const std::string& id) {
  return fmt::format(
      "id: {0}\nevent: commit\ndata: {{\"seq\":{0},\"at\":\"2026-01-01T12:03:07Z\",\"changes\":"
      "[{{\"entity\":\"{1}\",\"op\":\"put\",\"id\":\"{2}\"}}]}}\n\n",
      seq, entity, id);
}

struct Watch : testing::Test {
  FakeServer server;
  Watch() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

TEST_F(Watch, prints_each_change_as_a_line) {
  server.script_stream({": hello\n\nid: 5\nevent: ready\ndata: {}\n\n", commit(6, "job", "0190a"),
                        commit(7, "system", "x\\u001b"), commit(8, "job", "b\",\"status\":\"queued")},
                       false);
  auto r = run_at(server, {"watch"}, {.lines = 3});
  EXPECT_EQ(r.out, "12:03:07 job put 0190a\n12:03:07 system put x?\n12:03:07 job put b queued\n");
}

TEST_F(Watch, resumes_behind_the_last_event_and_says_when_it_had_to_start_over) {
  server.script_stream({commit(6, "job", "a")}, true);
  server.script_stream({commit(7, "job", "b")}, true);
  server.script_stream({"id: 9\nevent: reset\ndata: {}\n\n", commit(10, "job", "c")}, false);
  auto r = run_at(server, {"watch"}, {.lines = 4});
  EXPECT_EQ(r.out,
            "12:03:07 job put a\n12:03:07 job put b\n"
            "00:05:02 reset: the stream starts over, and changes may be missing here\n12:03:07 job put c\n");
  EXPECT_EQ(server.headers("Last-Event-ID"), (std::vector<std::string>{"6", "7"}));
  EXPECT_EQ(r.err, kReaderGone);
}

TEST_F(Watch, prints_json_lines_for_programs) {
  server.script_stream({"id: 5\nevent: ready\ndata: {\"seq\":5}\n\n"}, false);
  auto r = run_at(server, {"watch", "-o", "json"}, {.lines = 1});
  EXPECT_EQ(r.out, "{\"id\":\"5\",\"event\":\"ready\",\"data\":{\"seq\":5}}\n");
}

TEST_F(Watch, ends_where_the_stream_is_refused_or_nobody_is_there) {
  server.refuse("GET /api/v1/workspaces/acme/events", 403, R"({"message":"not yours"})");
  auto r = run_at(server, {"watch", "-w", "acme"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 403 not yours\n");
  server.stop();
  EXPECT_EQ(run_at(server, {"watch", "-w", "acme"}).code, 3);
}

TEST_F(Watch, tries_again_while_the_server_moves) {
  server.refuse("GET /api/v1/workspaces/acme/events", 503, "{}", 3);
  server.script_stream({commit(6, "job", "a")}, false);
  auto r = run_at(server, {"watch"}, {.lines = 1});
  EXPECT_EQ(r.out, "12:03:07 job put a\n");
  EXPECT_EQ(r.err, std::string("ctrlplane: connection lost; trying again\n") + kReaderGone);
}

TEST_F(Watch, of_a_list_prints_it_again_only_when_it_has_changed) {
  server.add("systems", R"({"name":"shop"})");
  int pauses = 0;
  auto r = run_at(server, {"get", "systems", "--watch"}, {.lines = 5, .on_pause = [&] {
                                                            ++pauses;
                                                            if (pauses == 3)
                                                              server.add("systems", R"({"name":"billing"})");
                                                            server.commit("system", "x");
                                                          }});
  EXPECT_EQ(r.out, "NAME  DESCRIPTION\nshop  -\nNAME     DESCRIPTION\nshop     -\nbilling  -\n");
  EXPECT_EQ(pauses, 3);
}

TEST_F(Watch, of_a_list_takes_the_place_of_the_last_one_on_a_terminal) {
  int pauses = 0;
  auto r = run_at(server, {"get", "systems", "--watch"},
                  {.terminal = true, .width = 80, .lines = 3, .on_pause = [&] {
                     if (++pauses == 1) server.add("systems", R"({"name":"shop"})");
                     server.commit("system", "x");
                   }});
  EXPECT_EQ(
      r.out,
      "\x1b[H\x1b[2J\x1b[3Jno systems in workspace acme\n\x1b[H\x1b[2J\x1b[3JNAME  DESCRIPTION\nshop  -\n");
}

TEST_F(Watch, of_a_list_fails_where_there_is_no_stream) {
  server.refuse("GET /api/v1/workspaces/acme/events", 403, R"({"message":"not yours"})");
  auto r = run_at(server, {"targets", "--watch"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 403 not yours\n");
  EXPECT_EQ(run_at(server, {"get", "workspaces", "--watch"}).code, 2);
}

}  // namespace
}  // namespace ctrlplane::cli
