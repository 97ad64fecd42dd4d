// What one replica tells another along with a request it passes on: who asks, as it found out, and for which
// workspace. Signed with the cluster's secret, bound to this very request and to the replica it is meant for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/directory.h"
#include "net/http.h"
#include "store/store.h"

namespace ctrlplane::api {

inline constexpr std::string_view kForwardedHeader = "ctrlplane-forwarded";
inline constexpr std::string_view kSignatureHeader = "ctrlplane-signature";
// In an answer: not the owner, and nothing was done.
inline constexpr std::string_view kNotOwnerHeader = "ctrlplane-not-owner";

struct Forwarded {
  store::ReplicaId to;
  Uuid request;  // the same for every attempt to pass it on
  Principal who;
  WorkspaceId workspace;          // as the path was understood; the instance's if it names none
  std::optional<Role> role = {};  // of the caller there
  bool operator==(const Forwarded&) const = default;
};

class Seal {
 public:
  explicit Seal(std::string secret) : secret_(std::move(secret)) {}

  // Adds both headers.
  void close(net::Request& request, const Forwarded& what) const;
  // Nothing if the headers are not there, or not from one who knows the secret, or about another request.
  std::optional<Forwarded> open(const net::Request& request) const;

 private:
  std::string sign(const net::Request& request, std::string_view forwarded) const;
  std::string secret_;
};

}  // namespace ctrlplane::api
