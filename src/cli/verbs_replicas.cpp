// replicas: which processes serve the instance, and who owns what.
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verb.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr size_t kNamesShown = 5;

std::string owned_text(const bj::array& workspaces, bool all) {
  std::string text;
  size_t shown = 0;
  for (const bj::value& w : workspaces) {
    if (shown == kNamesShown && !all) return fmt::format("{} and {} more", text, workspaces.size() - shown);
    std::string slug = text_at(w, "slug");
    text += fmt::format("{}{}", shown++ ? ", " : "", printable(slug.empty() ? text_at(w, "id") : slug));
  }
  return text;
}

Tone tone_of_state(std::string_view state) {
  if (state == "alive") return Tone::kGood;
  return state == "leaving" ? Tone::kBusy : Tone::kBad;
}

Outcome<void> replicas(Session& s) {
  bj::value answer = TRY(s.client.get(std::string(kApi) + "/replicas"));
  if (s.output == Output::kJson || s.output == Output::kYaml) {
    s.console.out << value_text(s.output, answer);
    return {};
  }
  Table table({"REPLICA", "ADDRESS", "VERSION", "STATE", "OWNS", "WORKSPACES"});
  for (const bj::value& r : answer.as_object().at("items").as_array()) {
    const bj::array& owned = r.as_object().at("workspaces").as_array();
    std::string id = text_at(r, "id"), state = text_at(r, "state");
    if (s.output == Output::kName) {
      s.console.out << "replica/" << printable(id) << '\n';
      continue;
    }
    bool here = r.as_object().at("answers").as_bool();
    table.add({{printable(id.substr(0, 8)) + (here ? " *" : "")},
               {printable(text_at(r, "address"))},
               {printable(text_at(r, "version"))},
               {printable(state), tone_of_state(state)},
               {std::to_string(owned.size())},
               {owned_text(owned, s.output == Output::kWide)}});
  }
  if (s.output == Output::kName) return {};
  s.console.out << table.render(s.console.out_is_terminal ? s.console.width : 0, s.console.colour);
  size_t orphans = answer.as_object().at("withoutOwner").as_array().size();
  if (orphans > 0)
    s.console.err << fmt::format("{} workspaces have no owner just now; they get one within the lease\n",
                                 orphans);
  return {};
}

}  // namespace

void add_replicas(CLI::App& app, const FramePtr& frame) {
  add_verb(app, frame, "replicas", "The replicas of the server, and which workspaces each owns (* answered)",
           "  ctrlplane replicas\n  ctrlplane replicas -o wide", replicas);
}

}  // namespace ctrlplane::cli
