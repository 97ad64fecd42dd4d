#include "verbs.h"

namespace ctrlplane::scenario {
namespace {

// A declaration replaces what has the name; after `another` it asks for a second one.
template <class IdType, class Slots>
std::optional<IdType> present(Call& call, const Slots& slots, const std::string& name) {
  IdType id = call.world.names.id<IdType>(name);
  return slots.find(id) ? std::optional(id) : std::nullopt;
}

template <class IdType>
Output declared(Call& call, const std::string& name, Reply reply) {
  Answer answer = TRY(std::move(reply));
  call.world.names.learn<IdType>(name, answer.id);
  return outcome(answer);
}

// Sends a link; a name that is no link partner gets 404 from the product.
Output send_link(Call& call, bool linked) {
  std::string kind = TRY(call.words.next("deployment or environment"));
  std::string name = TRY(call.words.next("a name"));
  TRY(call.words.must(linked ? "to" : "from"));
  SystemId system = call.world.names.id<SystemId>(TRY(call.words.next("a system")));
  if (kind == "deployment")
    return outcome(TRY(call.send(LinkDeployment{system, call.world.names.id<DeploymentId>(name), linked})));
  if (kind == "environment")
    return outcome(TRY(call.send(LinkEnvironment{system, call.world.names.id<EnvironmentId>(name), linked})));
  return mistake(fmt::format("'{}' cannot be linked", kind));
}

// `node-1 kind=Node env=prod`: kind, version, name and config are members, all else is metadata.
Result<ResourceInput> read_resource(const std::string& text) {
  Words words(text);
  ResourceInput in;
  in.identifier = in.name = TRY(words.next("an identifier"));
  in.kind = "Node";
  in.version = "v1";
  while (!words.done()) {
    std::string word = TRY(words.next("key=value"));
    size_t equals = word.find('=');
    if (equals == std::string::npos) return mistake(fmt::format("'{}' is not key=value", word));
    std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "identifier")
      in.identifier = value;
    else if (key == "name")
      in.name = value;
    else if (key == "kind")
      in.kind = value;
    else if (key == "version")
      in.version = value;
    else if (key == "config")
      in.config = TRY(read_json(value));
    else
      in.metadata.set(key, value);
  }
  return in;
}

// `[labelled tier=critical,db=true]`
Status read_labels(Call& call, Metadata& metadata) {
  if (!call.words.take("labelled")) return {};
  for (const std::string& label : split(TRY(call.words.next("labels")), ",")) {
    size_t equals = label.find('=');
    if (equals == std::string::npos) return mistake(fmt::format("'{}' is not key=value", label));
    metadata.set(label.substr(0, equals), label.substr(equals + 1));
  }
  return {};
}

// `v2..v50` is all of these, anything else is itself.
Result<std::vector<std::string>> read_range(const std::string& text) {
  size_t dots = text.find("..");
  if (dots == std::string::npos) return std::vector{text};
  size_t digits = text.find_last_not_of("0123456789", dots - 1) + 1;
  std::string stem = text.substr(0, digits), last = text.substr(dots + 2);
  if (!last.starts_with(stem)) return mistake(fmt::format("'{}' is no range", text));
  Words ends(text.substr(digits, dots - digits) + " " + last.substr(stem.size()));
  int64_t from = TRY(ends.number("a number")), to = TRY(ends.number("a number"));
  std::vector<std::string> out;
  for (int64_t n = from; n <= to; ++n) out.push_back(fmt::format("{}{}", stem, n));
  return out;
}

Result<std::vector<ResourceInput>> read_resources(const std::string& text) {
  ResourceInput like = TRY(read_resource(text));
  std::vector<ResourceInput> out;
  for (const std::string& identifier : TRY(read_range(like.identifier))) {
    out.push_back(like);
    out.back().identifier = identifier;
    if (like.name == like.identifier) out.back().name = identifier;
  }
  return out;
}

// A set makes many at once and its answer names none of them.
void learn_resources(World& world) {
  for (const Resource& r : world.rows<Resource>()) world.names.learn<ResourceId>(r.identifier, r.id.uuid);
}

Output publish_one(Call& call, CreateVersion command, const std::string& deployment) {
  std::string name = Names::version(deployment, command.tag);
  return declared<VersionId>(call, name, call.send(std::move(command)));
}

}  // namespace

Output declare_system(Call& call) {
  bool another = call.words.take("another");
  UpsertSystem c{.name = TRY(call.words.next("a name"))};
  if (!another) c.id = present<SystemId>(call, call.world.state().systems, c.name);
  return declared<SystemId>(call, c.name, call.send(c));
}

// `environment [another] prod [in shop] [described <word>] [labelled key=value,..] [where <selector>]`
Output declare_environment(Call& call) {
  bool another = call.words.take("another");
  UpsertEnvironment c{.name = TRY(call.words.next("a name"))};
  if (!another) c.id = present<EnvironmentId>(call, call.world.state().environments, c.name);
  std::string system;
  if (call.words.take("in")) system = TRY(call.words.next("a system"));
  if (call.words.take("described")) c.description = TRY(call.words.next("a description"));
  TRY(read_labels(call, c.metadata));
  if (call.words.take("where")) c.resource_selector = call.words.rest();
  std::string output = TRY(declared<EnvironmentId>(call, c.name, call.send(c)));
  if (!system.empty())
    TRY(call.world.send({LinkEnvironment{call.world.names.id<SystemId>(system),
                                         call.world.names.id<EnvironmentId>(c.name)}}));
  return output;
}

// `deployment [another] api [in shop] [described <word>] [labelled key=value,..] [where <selector>] [via
// <agent selector>] [timeout 10m] [config {..}]`
Output declare_deployment(Call& call) {
  bool another = call.words.take("another");
  UpsertDeployment c{.name = TRY(call.words.next("a name"))};
  if (!another) c.id = present<DeploymentId>(call, call.world.state().deployments, c.name);
  std::string system;
  if (call.words.take("in")) system = TRY(call.words.next("a system"));
  if (call.words.take("described")) c.description = TRY(call.words.next("a description"));
  TRY(read_labels(call, c.metadata));
  if (call.words.take("where")) c.resource_selector = call.words.until({"via", "timeout", "config"});
  if (call.words.take("via")) c.agent_selector = call.words.until({"timeout", "config"});
  if (call.words.take("timeout")) c.job_timeout = TRY(call.words.duration());
  if (call.words.take("config")) c.agent_config = TRY(read_json(call.words.rest()));
  std::string output = TRY(declared<DeploymentId>(call, c.name, call.send(c)));
  if (!system.empty())
    TRY(call.world.send(
        {LinkDeployment{call.world.names.id<SystemId>(system), call.world.names.id<DeploymentId>(c.name)}}));
  return output;
}

// `agent [another] runner http-pull [config {..}]`
Output declare_agent(Call& call) {
  bool another = call.words.take("another");
  UpsertAgent c{.name = TRY(call.words.next("a name"))};
  c.type = TRY(call.words.next("a type"));
  if (!another) c.id = present<AgentId>(call, call.world.state().agents, c.name);
  if (call.words.take("config")) c.config = TRY(read_json(call.words.rest()));
  return declared<AgentId>(call, c.name, call.send(c));
}

// `resource node-1 kind=Node env=prod`
Output declare_resource(Call& call) {
  ResourceInput in = TRY(read_resource(call.words.rest()));
  return declared<ResourceId>(call, in.identifier, call.send(UpsertResource{in, std::nullopt}));
}

// `channel pager webhook`: where people are told of what happens
Output declare_channel(Call& call) {
  UpsertChannel c{.name = TRY(call.words.next("a name"))};
  c.kind = TRY(read_word<ChannelKind>(call, "kind of channel"));
  return outcome(TRY(call.send(std::move(c))));
}

Output declare_provider(Call& call) {
  UpsertProvider c{.name = TRY(call.words.next("a name"))};
  return declared<ProviderId>(call, c.name, call.send(c));
}

// `set provider cloud: node-1 env=prod, node-2..node-9 env=test`
Output set_provider(Call& call) {
  TRY(call.words.must("provider"));
  SetProviderResources c{.provider = call.world.names.id<ProviderId>(TRY(call.words.label("provider")))};
  if (std::string all = call.words.rest(); all != "nothing")
    for (const std::string& one : split(all, ", "))
      for (ResourceInput& r : TRY(read_resources(one))) c.resources.push_back(std::move(r));
  std::string output = outcome(TRY(call.send(std::move(c))));
  learn_resources(call.world);
  return output;
}

Output link(Call& call) { return send_link(call, true); }
Output unlink(Call& call) { return send_link(call, false); }

// `delete resource node-1`
Output remove(Call& call) {
  std::string kind = TRY(call.words.next("a kind"));
  std::string name = TRY(call.words.next("a name"));
  const Names& names = call.world.names;
  Command c;
  if (kind == "resource")
    c = DeleteResource{name};
  else if (kind == "environment")
    c = DeleteEnvironment{names.id<EnvironmentId>(name)};
  else if (kind == "deployment")
    c = DeleteDeployment{names.id<DeploymentId>(name)};
  else if (kind == "system")
    c = DeleteSystem{names.id<SystemId>(name)};
  else if (kind == "policy")
    c = DeletePolicy{names.id<PolicyId>(name)};
  else if (kind == "agent")
    c = DeleteAgent{names.id<AgentId>(name)};
  else
    return mistake(fmt::format("'{}' cannot be deleted", kind));
  TRY(call.send(std::move(c)));
  return "deleted\n";
}

// `publish api v1 [building] [bypassing freezes | bypassing only F,G] [created day 1 08:00]
// [config {..} | [strictly] where <selector>]`; the tag may be a range.
Output publish(Call& call) {
  std::string deployment = TRY(call.words.next("a deployment"));
  CreateVersion c{.deployment = call.world.names.id<DeploymentId>(deployment)};
  c.tag = TRY(call.words.next("a tag"));
  if (std::string status = call.words.until({"bypassing", "created", "config", "strictly", "where"});
      !status.empty()) {
    auto parsed = parse_enum<VersionStatus>(status);
    if (!parsed) return mistake(fmt::format("'{}' is no version status", status));
    c.status = *parsed;
  }
  TRY(read_bypass(call, c));
  if (call.words.take("created")) c.created_at = call.world.wall_at(TRY(call.words.instant()));
  if (call.words.take("config")) c.agent_config = TRY(read_json(call.words.rest()));
  if (call.words.take("strictly")) c.on_selector_error = OnSelectorError::kExclude;
  if (call.words.take("where")) c.target_selector = call.words.rest();
  std::string output;
  for (const std::string& tag : TRY(read_range(c.tag))) {
    CreateVersion one = c;
    one.tag = tag;
    output = TRY(publish_one(call, std::move(one), deployment));
  }
  return output;
}

// `version api v1 rejected ["why"]`
Output set_status(Call& call) {
  std::string deployment = TRY(call.words.next("a deployment"));
  std::string tag = TRY(call.words.next("a tag"));
  SetVersionStatus c{.id = call.world.names.id<VersionId>(Names::version(deployment, tag))};
  c.status = TRY(read_word<VersionStatus>(call, "version status"));
  c.message = call.words.rest();
  return outcome(TRY(call.send(std::move(c))));
}

}  // namespace ctrlplane::scenario
