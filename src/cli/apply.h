// Makes a workspace be as documents say.
#pragma once

#include <vector>

#include "cli/documents.h"
#include "cli/failure.h"
#include "cli/verb.h"

namespace ctrlplane::cli {

// What is there is read first, and what documents refer to is looked up; only then is anything written. A
// member that a document leaves out is left as it is. Prints a line for each document and a summary. One that
// the server refuses does not keep those from being applied that do not depend on it.
Outcome<void> apply_documents(Session& session, std::vector<Document> documents, bool dry_run);

}  // namespace ctrlplane::cli
