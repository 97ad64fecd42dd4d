#include "api/grants.h"

#include <algorithm>

#include <fmt/core.h>

#include "api/permission.h"

namespace ctrlplane::api {

Result<std::string> grants_in(const Body& body) {
  const std::vector<std::string> asked = body.texts("grants");
  for (size_t i = 0; i < asked.size(); ++i) {
    auto named = [&](const Permission& p) { return p.name == asked[i]; };
    if (std::none_of(permission::kGrantable.begin(), permission::kGrantable.end(), named))
      return invalid(fmt::format("grants[{}]", i),
                     fmt::format("'{}' cannot be granted; deployment_freeze.create, .extend, .thaw, .bypass "
                                 "and deployment_version.scope can",
                                 asked[i].substr(0, 60)));
  }
  std::string kept;
  for (const Permission& p : permission::kGrantable) {
    if (std::find(asked.begin(), asked.end(), p.name) == asked.end()) continue;
    kept += kept.empty() ? "" : " ";
    kept += p.name;
  }
  return kept;
}

std::vector<std::string_view> grants_of(std::string_view kept) {
  std::vector<std::string_view> all;
  while (!kept.empty()) {
    const size_t end = std::min(kept.find(' '), kept.size());
    if (end > 0) all.push_back(kept.substr(0, end));
    kept.remove_prefix(std::min(end + 1, kept.size()));
  }
  return all;
}

void write_grants(JsonWriter& w, std::string_view kept) {
  if (kept.empty()) return;
  w.key("grants").open_array();
  for (std::string_view grant : grants_of(kept)) w.value(grant);
  w.close_array();
}

}  // namespace ctrlplane::api
