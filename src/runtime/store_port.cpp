#include "runtime/store_port.h"

namespace ctrlplane {

Result<Loaded> load_state(store::Store& store, WorkspaceId workspace, std::optional<store::Token> token) {
  Loaded out;
  out.state = std::make_unique<State>(workspace);
  auto fold = [&](Entity&& e) { out.state->apply(Change::put(std::move(e))); };
  out.owner = TRY(token ? store.load(workspace, *token, fold) : store.snapshot(workspace, fold));
  // Membership is derived here, off the loop. Rows without parents stay queued: erasing them is a change.
  out.state->derive();
  out.state->mark_all_dirty();
  return out;
}

Result<std::optional<Job>> read_job(store::Store& store, WorkspaceId workspace, JobId job) {
  store::ColdQuery query{.table = &store::table_for<Job>(), .equals = {{"id", job.uuid}}, .limit = 1};
  auto rows = TRY(store.read(workspace, query));
  if (rows.empty()) return std::optional<Job>();
  return std::optional(std::get<Job>(std::move(rows.front())));
}

Result<Ownerships> read_ownerships(store::Store& store) {
  Ownerships out;
  // Owners first: a beat read after them can only make an owner look more alive.
  out.owners = TRY(store.owners());
  out.replicas = TRY(store.replicas());
  return out;
}

}  // namespace ctrlplane
