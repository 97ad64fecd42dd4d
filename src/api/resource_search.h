// Finding resources: filters, CEL, order and pages over the workspace in memory. A search runs on the loop in
// slices, so that nothing waits behind it, and only over the candidates of the index.
#pragma once

#include <functional>
#include <memory>
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
  Narrowing narrowing() const;
};

// A look at resources: those that the index leaves when it begins. One that is changed while it lasts may be
// seen as it was, as it is, or not at all.
struct ResourceLook {
  Narrowing among;
  Sought sought = Sought::kYes;
  std::function<void(const Resource&)> look;        // on the loop, in the order of the slots
  std::function<std::string(const State&)> answer;  // after the last one; not empty
};
// Answers the call.
void look_at_resources(Call& call, ResourceLook look);

// Answers the call with a page of what fits.
Status search_resources(Call& call, ResourceFilter filter, Page page);

// Compiles a `cel` parameter. One that does not compile is tried once more after undoing a second round of
// percent-encoding, which an existing client puts on it.
Result<std::shared_ptr<const Selector>> compile_query(std::string_view cel);

}  // namespace ctrlplane::api
