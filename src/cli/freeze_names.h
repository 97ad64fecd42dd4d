// Which freeze a person means, and what the things that freezes stop are called.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "cli/client.h"
#include "cli/failure.h"
#include "cli/kinds.h"

namespace ctrlplane::cli {

const Kind& freeze_kind();

// From its id, the beginning of it, or "freeze/ID" as -o name writes it. A beginning is looked for among the
// freezes that have not ended or did within 30 days.
Outcome<std::string> freeze_id(Client& client, std::string reference);
// W/freezes/{id}
Outcome<std::string> freeze_path(Client& client, std::string reference);

// "workspace", "system", "environment" (or "env"), "deployment".
Outcome<std::string> scope_called(std::string_view word);
// The id of the thing of that scope; nothing for a workspace. A workspace that is named becomes the one that
// is asked about.
Outcome<std::string> scope_entity(Client& client, const std::string& scope, const std::string& name);

// Names for tables and headings. Not to know one is no failure: its id is shown.
class ScopeNames {
 public:
  // `client` must outlive it.
  explicit ScopeNames(Client& client) : client_(client) {}

  // Asks for all that the freezes need, at once.
  void learn(const boost::json::array& freezes);
  // "environment prod", "workspace acme".
  std::string title(const boost::json::value& freeze) const;

 private:
  void ask_for(const Kind& kind, const std::string& id);
  void ask_for_all(const Kind& kind);

  Client& client_;
  std::map<std::string, std::string> names_;  // by id
  bool refused_ = false;                      // then nothing more is asked
};

}  // namespace ctrlplane::cli
