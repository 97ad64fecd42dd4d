// The rows of the instance: workspaces, users, their keys, sessions and memberships.
#include "state/state.h"

namespace ctrlplane {
namespace {

// Replaces a row and keeps the index over one of its texts true.
template <class Rows, class Index, class Row>
void put_indexed(Rows& rows, Index& index, std::string Row::* text, const Row& row) {
  auto [it, added] = rows.try_emplace(row.id, row);
  if (!added) {
    auto old = index.find(it->second.*text);
    if (old != index.end() && old->second == row.id) index.erase(old);
    it->second = row;
  }
  index[row.*text] = row.id;
}

template <class Rows, class Index, class Row>
void erase_indexed(Rows& rows, Index& index, std::string Row::* text, const Row& row) {
  auto it = rows.find(row.id);
  if (it == rows.end()) return;
  auto old = index.find(it->second.*text);
  if (old != index.end() && old->second == row.id) index.erase(old);
  rows.erase(it);
}

template <class Rows, class Index>
auto find_indexed(const Rows& rows, const Index& index, std::string_view text) -> const
    typename Rows::mapped_type* {
  auto it = index.find(text);
  return it == index.end() ? nullptr : &rows.at(it->second);
}

}  // namespace

void State::put(const Workspace& row) { put_indexed(workspaces, workspace_by_slug_, &Workspace::slug, row); }
void State::erase(const Workspace& row) {
  erase_indexed(workspaces, workspace_by_slug_, &Workspace::slug, row);
}

void State::put(const User& row) { put_indexed(users, user_by_email_, &User::email, row); }
void State::erase(const User& row) { erase_indexed(users, user_by_email_, &User::email, row); }

void State::put(const ApiKey& row) { put_indexed(api_keys, key_by_prefix_, &ApiKey::prefix, row); }
void State::erase(const ApiKey& row) { erase_indexed(api_keys, key_by_prefix_, &ApiKey::prefix, row); }

void State::put(const Session& row) {
  put_indexed(sessions, session_by_token_, &Session::token_hash, row);
  timers.add(row.expires_at, TimerKind::kSessionExpiry, row.id.uuid);
}
void State::erase(const Session& row) {
  erase_indexed(sessions, session_by_token_, &Session::token_hash, row);
}

void State::put(const Member& row) { members[{row.workspace, row.user}] = row; }
void State::erase(const Member& row) { members.erase({row.workspace, row.user}); }

const User* State::user_with_email(std::string_view lower_case) const {
  return find_indexed(users, user_by_email_, lower_case);
}
const ApiKey* State::key_with_prefix(std::string_view prefix) const {
  return find_indexed(api_keys, key_by_prefix_, prefix);
}
const Session* State::session_with_token(std::string_view token_hash) const {
  return find_indexed(sessions, session_by_token_, token_hash);
}
const Workspace* State::workspace_with_slug(std::string_view slug) const {
  return find_indexed(workspaces, workspace_by_slug_, slug);
}

}  // namespace ctrlplane
