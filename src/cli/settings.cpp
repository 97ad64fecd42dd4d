#include "cli/settings.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cli/files.h"
#include "cli/text.h"
#include "cli/yaml_reader.h"

namespace ctrlplane::cli {
namespace {

constexpr std::array<std::string_view, 3> kMembers = {"url", "apiKey", "workspace"};

std::string config_path(const Console& console) {
  std::string folder = console.environment("XDG_CONFIG_HOME");
  if (folder.empty()) {
    std::string home = console.environment("HOME");
    if (home.empty()) return {};
    folder = home + "/.config";
  }
  return folder + "/ctrlplane/config.yaml";
}

Read<void> read_config(const std::string& text, Settings& out) {
  std::vector<YAML::Node> documents = TRY(parse_yaml(text));
  if (documents.empty() || documents[0].IsNull()) return {};
  return for_each_member(
      documents[0], "", [&](const std::string& name, const YAML::Node& node, int line) -> Read<void> {
        std::string value = TRY(read_text(node, name));
        if (name == "url")
          out.url = value;
        else if (name == "apiKey")
          out.api_key = value;
        else if (name == "workspace")
          out.workspace = value;
        else
          return std::unexpected(
              Trouble{line, name, fmt::format("is not known{}", did_you_mean(name, kMembers))});
        return {};
      });
}

Outcome<void> read_config_file(const std::string& path, Settings& out) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return {};
  std::string text = TRY(read_file(path));
  if (auto read = read_config(text, out); !read) {
    const Trouble& t = read.error();
    return wrong_use(
        fmt::format("{}, line {}: {}{}", path, t.line, t.path.empty() ? "" : t.path + ": ", t.message));
  }
  return {};
}

void take(std::string& setting, const std::string& given) {
  if (!given.empty()) setting = given;
}

// Both http://host and http://host/api are in use.
std::string base_of(std::string url) {
  for (std::string_view end : {"/", "/v1", "/api", "/"})
    while (url.ends_with(end)) url.resize(url.size() - end.size());
  return url;
}

Outcome<void> check(const Settings& s) {
  if (!s.url.starts_with("http://") && !s.url.starts_with("https://"))
    return wrong_use(fmt::format("the server's URL must begin with http:// or https://, not '{}'", s.url));
  auto odd = [](unsigned char c) { return c <= 0x20 || c >= 0x7f; };
  if (std::ranges::any_of(s.url, odd)) return wrong_use("the server's URL has characters that no URL has");
  // It goes into a header; and it is not repeated here.
  if (std::ranges::any_of(s.api_key, odd)) return wrong_use("the API key has characters that no key has");
  return {};
}

}  // namespace

Outcome<Settings> read_settings(const Flags& flags, const Console& console) {
  Settings s;
  TRY(read_config_file(config_path(console), s));
  take(s.url, console.environment("CTRLPLANE_URL"));
  take(s.url, flags.url);
  take(s.api_key, console.environment("CTRLPLANE_API_KEY"));
  take(s.api_key, flags.api_key);
  take(s.workspace, console.environment("CTRLPLANE_WORKSPACE"));
  take(s.workspace, flags.workspace);
  s.ca_file = console.environment("CTRLPLANE_CA_FILE");
  take(s.ca_file, flags.ca_file);
  s.verify_tls = !flags.insecure;
  s.url = base_of(s.url);
  TRY(check(s));
  return s;
}

}  // namespace ctrlplane::cli
