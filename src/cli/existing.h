// What a server has of the things that documents describe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/client.h"
#include "cli/documents.h"
#include "cli/failure.h"

namespace ctrlplane::cli {

struct Existing {
  std::string id;
  std::shared_ptr<const boost::json::object> values;  // shared by the look-ups that found it; never changed
  std::map<std::string, std::string> systems = {};    // name by id: what it is linked to
};

// Settles which workspace documents are about: the one named by a flag, or the only one that they describe,
// or the only one that there is. True if it is one of the documents and not on the server.
Outcome<bool> workspace_is_fresh(Client& client, const std::vector<Document>& documents);

class ExistingThings {
 public:
  // `client` must outlive it. `fresh`: the workspace does not exist yet, so nothing is in it.
  ExistingThings(Client& client, bool fresh) : client_(client), fresh_(fresh) {}

  // To be called with all that will be asked for: many resources are fetched as one list.
  void prepare(const std::vector<Document>& documents);

  Outcome<std::optional<Existing>> find(const Document& document);
  Outcome<std::optional<Existing>> provider(const std::string& name);
  Outcome<std::optional<Existing>> deployment(const std::string& name);
  // Ids of the systems of that name; there may be several.
  Outcome<std::vector<std::string>> systems(const std::string& name);

 private:
  using Found = std::optional<Existing>;

  Outcome<Found> ask(const std::string& path, std::string_view member = {});
  Outcome<Found> in_list(const Document& document, const std::string& deployment = {});
  using Things = std::multimap<std::string, Existing>;
  Outcome<const Things*> list(std::string_view singular, const std::string& deployment = {});

  Client& client_;
  bool fresh_;
  // Lists that were fetched as a whole, by path; in each by name, of which systems may have one several
  // times.
  std::map<std::string, Things> lists_;
  std::map<std::string, Found>
      asked_;  // by path: a provider is asked for once, not for each of its resources
  bool resources_listed_ = false;
};

// The members of a document that differ from what is there, by their names in the document; references are
// not compared.
std::vector<std::string> differing_members(const Document& document, const Existing& existing);

}  // namespace ctrlplane::cli
