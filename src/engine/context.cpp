#include "engine/context.h"

namespace ctrlplane {
namespace {

// A JSON object, member by member.
class ObjectWriter {
 public:
  ObjectWriter& text(std::string_view name, std::string_view value) {
    member(name);
    append_json_string(out_, value);
    return *this;
  }
  ObjectWriter& raw(std::string_view name, std::string_view json) {
    member(name);
    out_ += json;
    return *this;
  }
  std::string done() { return out_ + "}"; }

 private:
  void member(std::string_view name) {
    if (out_.size() > 1) out_ += ',';
    append_json_string(out_, name);
    out_ += ':';
  }
  std::string out_ = "{";
};

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
  ObjectWriter out;
  out.raw("deployment", ObjectWriter()
                            .text("id", deployment.id.str())
                            .text("name", deployment.name)
                            .text("slug", deployment.slug)
                            .raw("metadata", deployment.metadata.json())
                            .done());
  out.raw("environment", ObjectWriter()
                             .text("id", environment.id.str())
                             .text("name", environment.name)
                             .raw("metadata", environment.metadata.json())
                             .done());
  out.raw("jobAgent",
          ObjectWriter().text("id", agent.id.str()).text("name", agent.name).text("type", agent.type).done());
  out.raw("jobAgentConfig", config.text());
  out.raw("version", ObjectWriter()
                         .text("id", version.id.str())
                         .text("tag", version.tag)
                         .text("name", version.name)
                         .raw("config", version.config.text())
                         .raw("metadata", version.metadata.json())
                         .done());
  Digest digest = write_part(tx, out.done());
  tx.state.cache_shared_part(d, e, v, a, {digest, tx.now});
  return digest;
}

Digest resource_part(Tx& tx, ResourceIx r) {
  if (auto known = tx.state.cached_resource_part(r, tx.now)) return *known;
  const Resource& row = tx.state.resources[r].row;
  std::string body = ObjectWriter()
                         .text("id", row.id.str())
                         .text("identifier", row.identifier)
                         .text("name", row.name)
                         .text("kind", row.kind)
                         .text("version", row.version)
                         .raw("config", row.config.text())
                         .raw("metadata", row.metadata.json())
                         .done();
  Digest digest = write_part(tx, std::move(body));
  tx.state.cache_resource_part(r, {digest, tx.now});
  return digest;
}

}  // namespace ctrlplane
