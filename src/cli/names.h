// From what a person calls a thing to the thing: a name, an id, or the beginning of an id.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "cli/client.h"
#include "cli/failure.h"
#include "cli/kinds.h"

namespace ctrlplane::cli {

// Where a kind's list is. `deployment` is the id of the one it belongs to, where the kind belongs to one.
Outcome<std::string> list_path(Client& client, const Kind& kind, std::string_view deployment = {});

// The one that is meant. A name goes before the beginning of an id. None: a Failure with status 404; several:
// wrong use, with the candidates as hints.
Outcome<boost::json::value> find_one(Client& client, const Kind& kind, std::string_view reference,
                                     std::string_view deployment = {});
// Only its id; a complete id is taken without asking.
Outcome<std::string> id_of(Client& client, const Kind& kind, std::string_view reference,
                           std::string_view deployment = {});

// "no deployment 'x' in workspace 'acme'", or that there is no such workspace.
Failure not_found(Client& client, const Kind& kind, std::string_view reference);

// A text as a literal of the expression language.
std::string cel_text(std::string_view text);

}  // namespace ctrlplane::cli
