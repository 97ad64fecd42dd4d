#include "agent/job.h"

#include <algorithm>
#include <cctype>

namespace ctrlplane::agent {
namespace {

constexpr size_t kMaxValueBytes = 96 * 1024;  // Linux takes 128 KiB for a name and its value

JsonView context_of(const PulledJob& job) { return JsonView::parse(job.context).value_or(JsonView()); }

// A string as its text, anything else as JSON.
std::string plain(JsonView value) {
  if (auto text = value.string()) return *text;
  return value.is_null() ? std::string() : std::string(value.text());
}

bool is_one_of(JsonView object, std::initializer_list<std::string_view> members, const std::string& wanted) {
  return std::ranges::any_of(members, [&](std::string_view m) { return object[m].string() == wanted; });
}

bool holds(JsonView context, const std::string& key, const std::string& value) {
  if (key == "kind") return is_one_of(context["resource"], {"kind"}, value);
  if (key == "environment") return is_one_of(context["environment"], {"name", "id"}, value);
  if (key == "deployment") return is_one_of(context["deployment"], {"name", "slug", "id"}, value);
  return context["resource"]["metadata"][key].string() == value;
}

std::string variable_name(std::string_view key) {
  std::string name = "CTRLPLANE_VARIABLE_";
  for (unsigned char c : key) name += c < 128 && std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
  return name;
}

void add(std::vector<std::string>& environment, std::string_view name, const std::string& value) {
  if (value.size() + name.size() > kMaxValueBytes || value.find('\0') != std::string::npos) return;
  environment.push_back(std::string(name) + "=" + value);
}

}  // namespace

Result<PulledJob> job_of(JsonView json) {
  PulledJob job;
  job.id = json["id"].string().value_or("");
  if (job.id.empty()) return fail(ErrorCode::kInvalid, "a job without an id");
  job.created_at = json["createdAt"].string().value_or("");
  JsonView context = json["dispatchContext"];
  if (!context.is_null() && !context.is_object())
    return fail(ErrorCode::kInvalid, "the dispatch context of job " + job.id + " is not an object");
  if (context.is_object()) job.context = context.text();
  JsonView config =
      context["jobAgentConfig"].is_object() ? context["jobAgentConfig"] : json["jobAgentConfig"];
  if (config.is_object()) job.config = config.text();
  return job;
}

bool matches(const Selector& selector, const PulledJob& job) {
  JsonView context = context_of(job);
  return std::ranges::all_of(selector,
                             [&](const auto& pair) { return holds(context, pair.first, pair.second); });
}

std::vector<std::string> environment_of(const PulledJob& job) {
  struct Entry {
    std::string_view name, entity, member;
  };
  static constexpr Entry kEntries[] = {
      {"CTRLPLANE_DEPLOYMENT_ID", "deployment", "id"},
      {"CTRLPLANE_DEPLOYMENT_NAME", "deployment", "name"},
      {"CTRLPLANE_ENVIRONMENT_ID", "environment", "id"},
      {"CTRLPLANE_ENVIRONMENT_NAME", "environment", "name"},
      {"CTRLPLANE_RESOURCE_ID", "resource", "id"},
      {"CTRLPLANE_RESOURCE_IDENTIFIER", "resource", "identifier"},
      {"CTRLPLANE_RESOURCE_NAME", "resource", "name"},
      {"CTRLPLANE_RESOURCE_KIND", "resource", "kind"},
      {"CTRLPLANE_VERSION_ID", "version", "id"},
      {"CTRLPLANE_VERSION_TAG", "version", "tag"},
      {"CTRLPLANE_VERSION_NAME", "version", "name"},
  };
  JsonView context = context_of(job);
  std::vector<std::string> environment;
  add(environment, "CTRLPLANE_JOB_ID", job.id);
  add(environment, "CTRLPLANE_CONFIG", job.config);
  for (const Entry& entry : kEntries)
    add(environment, entry.name, plain(context[entry.entity][entry.member]));
  for (const auto& [key, value] : context["variables"].members())
    add(environment, variable_name(key), plain(value));
  return environment;
}

std::vector<std::string> inherited_environment(const char* const* all, std::string_view api_key) {
  std::vector<std::string> environment;
  for (; all && *all; ++all) {
    std::string_view entry = *all;
    if (entry.starts_with("CTRLPLANE_")) continue;
    if (!api_key.empty() && entry.find(api_key) != std::string_view::npos) continue;
    environment.emplace_back(entry);
  }
  return environment;
}

}  // namespace ctrlplane::agent
