// Who is who: a copy of the instance's users, keys, sessions and members that the I/O threads may ask without
// going to the loop. It follows the committed changes, so it never knows what is not durable.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/permission.h"
#include "api/secret.h"
#include "base/result.h"
#include "runtime/feed.h"

namespace ctrlplane {
class State;
}

namespace ctrlplane::api {

// A caller whose key or session was found good.
struct Principal {
  UserId user;
  std::string email;
  bool instance_admin = false;
  std::optional<KeyId> key;  // or else a session
  std::optional<SessionId> session;
  std::optional<Time> key_expires_at = {};
  std::optional<Role> key_role;              // narrows the user's own
  std::optional<WorkspaceId> key_workspace;  // the only one the key may be used for

  // As it stands in the audit log.
  std::string actor() const { return "user:" + email; }
  bool operator==(const Principal&) const = default;
};

class Directory final : public FeedListener {
 public:
  // kUnauthenticated with one and the same message, whatever was wrong. kUnavailable before the first load.
  Result<Principal> by_key(std::string_view text, Time now) const;
  Result<Principal> by_session(std::string_view token, Time now) const;
  // Is what this principal came with still good?
  bool holds(const Principal& who, Time now) const;

  std::optional<User> user_by_email(std::string_view email) const;
  // By id or slug; nothing if it is not there or not this caller's.
  std::optional<Workspace> workspace(const Principal& who, std::string_view id_or_slug) const;
  // May `who` do this there: by role or by what was granted beyond it? A key does no more than its user.
  // kForbidden names what is missing.
  Status allows(const Principal& who, const Permission& permission, WorkspaceId workspace) const;
  std::optional<Role> role_in(const Principal& who, WorkspaceId workspace) const;
  std::vector<Workspace> workspaces_of(const Principal& who) const;
  // Of the members who have one of these roles, as permission::of makes them.
  std::vector<std::string> emails_of(WorkspaceId workspace, uint8_t roles) const;

  // Until this is called nobody is known: a good key must never be called bad because it is about to be made.
  void open();
  bool ready() const;

  // Forgets what it knew and takes everything from the instance's state.
  void load(const State& instance);
  void loaded(WorkspaceLoop& loop) override;
  void committed(WorkspaceId workspace, int64_t seq, Time now, const Changes& changes) override;

 private:
  // A key, and what its secret looked like when it was last found right. It goes with the row.
  struct KnownKey {
    ApiKey row;
    std::optional<Fingerprints::Value> verified = {};
  };

  void apply(const Change& change);
  void put(const ApiKey& row);
  void erase(const ApiKey& row);
  void put(const Session& row);
  void erase(const Session& row);
  void put(const Workspace& row);
  void erase(const Workspace& row);
  bool has_secret(KnownKey& key, std::string_view secret) const;
  Result<Principal> principal_of(UserId user) const;
  bool sees(const Principal& who, WorkspaceId workspace) const;
  std::optional<Role> role_of(const Principal& who, WorkspaceId workspace) const;
  bool is_granted(const Principal& who, const Permission& permission, WorkspaceId workspace) const;
  bool is_granted_to_key(const Principal& who, const Permission& permission) const;

  mutable std::mutex mutex_;
  bool ready_ = false, open_ = false;
  Fingerprints fingerprints_;
  std::map<UserId, User> users_;
  mutable std::map<KeyId, KnownKey> keys_;  // `verified` is learnt by asking
  std::map<std::string, KeyId, std::less<>> key_by_prefix_;
  std::map<SessionId, Session> sessions_;
  std::map<std::string, SessionId, std::less<>> session_by_hash_;
  std::map<std::pair<WorkspaceId, UserId>, ctrlplane::Member> members_;
  std::map<WorkspaceId, Workspace> workspaces_;
  std::map<std::string, WorkspaceId, std::less<>> workspace_by_slug_;
};

}  // namespace ctrlplane::api
