#include "cli/settings.h"

#include <iostream>

#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

struct Fixture {
  TemporaryFolder folder;
  std::map<std::string, std::string> environment{{"XDG_CONFIG_HOME", folder.path()}};
  SystemClock clock;

  void config(const std::string& text) const { folder.write("ctrlplane/config.yaml", text); }
  Outcome<Settings> read(const Flags& flags = {}) {
    Console console{.in = std::cin,
                    .out = std::cout,
                    .err = std::cerr,
                    .environment = [this](const char* name) { return environment[name]; },
                    .clock = clock,
                    .pause = [](Duration) {}};
    return read_settings(flags, console);
  }
  std::string trouble(const Flags& flags = {}) {
    auto s = read(flags);
    EXPECT_FALSE(s);
    if (s) return {};
    EXPECT_EQ(s.error().exit_code, kWrongUse);
    return s.error().message;
  }
};

TEST(Settings, have_defaults_where_nothing_is_said) {
  Fixture f;
  Settings s = *f.read();
  EXPECT_EQ(s.url, "http://127.0.0.1:8080");
  EXPECT_EQ(s.api_key, "");
  EXPECT_EQ(s.workspace, "");
  EXPECT_TRUE(s.verify_tls);
}

TEST(Settings, come_from_flag_then_environment_then_file) {
  Fixture f;
  f.config("url: http://file\napiKey: file-key\nworkspace: file-ws\n");
  EXPECT_EQ(f.read()->url, "http://file");
  EXPECT_EQ(f.read()->api_key, "file-key");
  EXPECT_EQ(f.read()->workspace, "file-ws");
  f.environment["CTRLPLANE_URL"] = "http://env";
  f.environment["CTRLPLANE_API_KEY"] = "env-key";
  f.environment["CTRLPLANE_WORKSPACE"] = "env-ws";
  EXPECT_EQ(f.read()->url, "http://env");
  EXPECT_EQ(f.read()->api_key, "env-key");
  EXPECT_EQ(f.read()->workspace, "env-ws");
  Flags flags{.url = "http://flag", .api_key = "flag-key", .workspace = "flag-ws", .insecure = true};
  EXPECT_EQ(f.read(flags)->url, "http://flag");
  EXPECT_EQ(f.read(flags)->api_key, "flag-key");
  EXPECT_EQ(f.read(flags)->workspace, "flag-ws");
  EXPECT_FALSE(f.read(flags)->verify_tls);
}

TEST(Settings, are_read_from_home_without_xdg) {
  Fixture f;
  f.environment = {{"HOME", f.folder.path()}};
  f.folder.write(".config/ctrlplane/config.yaml", "workspace: home\n");
  EXPECT_EQ(f.read()->workspace, "home");
}

TEST(Settings, take_the_url_with_or_without_the_api_behind_it) {
  Fixture f;
  for (const char* url :
       {"http://h:1", "http://h:1/", "http://h:1/api", "http://h:1/api/", "http://h:1/api/v1"})
    EXPECT_EQ(f.read({.url = url})->url, "http://h:1") << url;
}

TEST(Settings, say_what_is_wrong_with_the_file_and_where) {
  Fixture f;
  std::string path = f.folder.path() + "/ctrlplane/config.yaml";
  f.config("url: http://x\nworkspce: y\n");
  EXPECT_EQ(f.trouble(), path + ", line 2: workspce: is not known (did you mean 'workspace'?)");
  f.config("a: [");
  EXPECT_NE(f.trouble().find("not YAML"), std::string::npos);
  f.config("- x");
  EXPECT_NE(f.trouble().find("must have members"), std::string::npos);
  f.config("");
  EXPECT_TRUE(f.read());
}

TEST(Settings, refuse_what_cannot_be_a_url_or_a_key_and_do_not_repeat_the_key) {
  Fixture f;
  EXPECT_NE(f.trouble({.url = "ftp://x"}).find("http:// or https://"), std::string::npos);
  EXPECT_NE(f.trouble({.url = "http://x y"}).find("characters"), std::string::npos);
  std::string said = f.trouble({.api_key = "secret\nx"});
  EXPECT_NE(said.find("API key"), std::string::npos);
  EXPECT_EQ(said.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace ctrlplane::cli
