#include "engine/context.h"

#include "model/json_writer.h"

namespace ctrlplane {
namespace {

Digest write_part(Tx& tx, std::string body) {
  Digest digest = digest_of(body);
  tx.put(ContextPart{digest, std::move(body), tx.now});
  return digest;
}

}  // namespace

Digest shared_part(Tx& tx, DeploymentIx d, EnvironmentIx e, VersionIx v, AgentIx a) {
  if (auto known = tx.state.cached_shared_part(d, e, v, a, tx.now)) return *known;
  const Deployment& deployment = tx.state.deployments[d].row;
  const Environment& environment = tx.state.environments[e].row;
  const Version& version = tx.state.versions[v].row;
  const JobAgent& agent = tx.state.agents[a].row;
  Json config = merge(merge(agent.config, deployment.agent_config), version.agent_config);
  JsonWriter w;
  w.open().key("deployment").open().member("id", deployment.id).member("name", deployment.name);
  w.member("slug", deployment.slug).member("metadata", deployment.metadata).close();
  w.key("environment").open().member("id", environment.id).member("name", environment.name);
  w.member("metadata", environment.metadata).close();
  w.key("jobAgent")
      .open()
      .member("id", agent.id)
      .member("name", agent.name)
      .member("type", agent.type)
      .close();
  w.member("jobAgentConfig", config);
  w.key("version").open().member("id", version.id).member("tag", version.tag).member("name", version.name);
  w.member("config", version.config).member("metadata", version.metadata).close().close();
  Digest digest = write_part(tx, w.take());
  tx.state.cache_shared_part(d, e, v, a, {digest, tx.now});
  return digest;
}

Digest resource_part(Tx& tx, ResourceIx r) {
  if (auto known = tx.state.cached_resource_part(r, tx.now)) return *known;
  const Resource& row = tx.state.resources[r].row;
  JsonWriter w;
  w.open().member("id", row.id).member("identifier", row.identifier).member("name", row.name);
  w.member("kind", row.kind).member("version", row.version);
  w.member("config", row.config).member("metadata", row.metadata).close();
  Digest digest = write_part(tx, w.take());
  tx.state.cache_resource_part(r, {digest, tx.now});
  return digest;
}

}  // namespace ctrlplane
