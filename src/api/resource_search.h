// Finding resources: filters, CEL, order and pages over the workspace in memory. A search over many resources
// runs on the loop in slices, so that nothing waits behind it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/call.h"
#include "state/selector.h"

namespace ctrlplane::api {

struct ResourceFilter {
  std::vector<std::string> identifiers, kinds, versions;
  std::vector<ProviderId> providers;
  bool no_provider_fits = false;  // an id among providerIds that can be nobody's
  Metadata metadata;
  std::string text;                          // in name or identifier, without regard to case
  std::shared_ptr<const Selector> selector;  // shared by the slices of one search
  enum class Order { kSlot, kCreatedAt, kUpdatedAt, kName, kKind } order = Order::kSlot;
  bool descending = false;

  bool fits(const Resource& r) const;
};

// Answers the call with a page of what fits.
Status search_resources(Call& call, ResourceFilter filter, Page page);

// Compiles a `cel` parameter. One that does not compile is tried once more after undoing a second round of
// percent-encoding, which an existing client puts on it.
Result<std::shared_ptr<const Selector>> compile_query(std::string_view cel);

}  // namespace ctrlplane::api
