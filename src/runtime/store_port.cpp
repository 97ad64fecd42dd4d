#include "runtime/store_port.h"

namespace ctrlplane {
namespace {

template <class E>
Result<std::optional<E>> read_one(store::Store& store, WorkspaceId workspace,
                                  std::vector<std::pair<std::string_view, store::CellView>> equals) {
  store::ColdQuery query{.table = &store::table_for<E>(), .equals = std::move(equals), .limit = 1};
  auto rows = TRY(store.read(workspace, query));
  if (rows.empty()) return std::optional<E>();
  return std::optional(std::get<E>(std::move(rows.front())));
}

}  // namespace

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
  return read_one<Job>(store, workspace, {{"id", job.uuid}});
}

Result<std::optional<Version>> read_version(store::Store& store, WorkspaceId workspace,
                                            DeploymentId deployment, std::string_view tag) {
  return read_one<Version>(store, workspace, {{"deployment_id", deployment.uuid}, {"tag", tag}});
}

Result<Ownerships> read_ownerships(store::Store& store) {
  Ownerships out;
  out.exclusive = store.exclusive();
  // Owners first: a beat read after them can only make an owner look more alive.
  out.owners = TRY(store.owners());
  out.replicas = TRY(store.replicas());
  return out;
}

}  // namespace ctrlplane
