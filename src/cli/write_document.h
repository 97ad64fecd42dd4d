// The requests that make one thing be as its document says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/documents.h"
#include "cli/existing.h"
#include "cli/failure.h"

namespace ctrlplane::cli {

// What a document refers to, as ids.
struct Links {
  std::optional<std::string> provider = {};
  std::string deployment = {};
  // Where the document names its systems: those to link and those to unlink.
  std::vector<std::string> link = {}, unlink = {};
};

struct Written {
  std::string id;
  std::vector<std::string> warnings = {};  // what the server says about it though it took it
};

// Creates it, or changes what exists. Members that the document leaves out are sent
// as they are, because the API replaces the whole. Links are not touched.
Outcome<Written> write_document(Client& client, const Document& document, const Existing* existing,
                                const Links& links);
Outcome<void> write_links(Client& client, const Document& document, const std::string& id,
                          const Links& links);

}  // namespace ctrlplane::cli
