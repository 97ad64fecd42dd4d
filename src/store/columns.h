// One description per entity: the names and order of its columns, key columns first. Schema, row
// writer and row reader are all derived from it, so they cannot disagree. Every table has
// workspace_id as its first key column; it is not repeated here.
//
// A new member goes at the end, with a migration that adds the column.
#pragma once

#include "model/change.h"

namespace ctrlplane::store {

template <class V, class E>
void describe_target_key(V& v, E& key) {
  v.key("resource_id", key.resource);
  v.key("environment_id", key.environment);
  v.key("deployment_id", key.deployment);
}

template <class V, class E>
void describe(V& v, E& e, const Workspace*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("slug", e.slug);
  v.col("created_at", e.created_at);
}

// Accounts are rows of the instance; the workspace a row speaks of is another column.
template <class V, class E>
void describe(V& v, E& e, const User*) {
  v.key("id", e.id);
  v.col("email", e.email);
  v.col("name", e.name);
  v.col("password_hash", e.password_hash);
  v.col("admin", e.admin);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const ApiKey*) {
  v.key("id", e.id);
  v.col("user_id", e.user);
  v.col("name", e.name);
  v.col("prefix", e.prefix);
  v.col("secret_hash", e.secret_hash);
  v.col("role", e.role);
  v.col("key_workspace_id", e.workspace);
  v.col("expires_at", e.expires_at);
  v.col("created_at", e.created_at);
  v.col("grants", e.grants);
}

template <class V, class E>
void describe(V& v, E& e, const Session*) {
  v.key("id", e.id);
  v.col("user_id", e.user);
  v.col("token_hash", e.token_hash);
  v.col("created_at", e.created_at);
  v.col("expires_at", e.expires_at);
}

template <class V, class E>
void describe(V& v, E& e, const Member*) {
  v.key("member_workspace_id", e.workspace);
  v.key("user_id", e.user);
  v.col("role", e.role);
  v.col("grants", e.grants);
}

template <class V, class E>
void describe(V& v, E& e, const System*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("slug", e.slug);
  v.col("description", e.description);
  v.col("metadata", e.metadata);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const Environment*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("description", e.description);
  v.col("resource_selector", e.resource_selector);
  v.col("metadata", e.metadata);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const Deployment*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("slug", e.slug);
  v.col("description", e.description);
  v.col("resource_selector", e.resource_selector);
  v.col("agent_selector", e.agent_selector);
  v.col("agent_config", e.agent_config);
  v.col("job_timeout_us", e.job_timeout);
  v.col("metadata", e.metadata);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const SystemDeployment*) {
  v.key("system_id", e.system);
  v.key("deployment_id", e.deployment);
}

template <class V, class E>
void describe(V& v, E& e, const SystemEnvironment*) {
  v.key("system_id", e.system);
  v.key("environment_id", e.environment);
}

template <class V, class E>
void describe(V& v, E& e, const Version*) {
  v.key("id", e.id);
  v.col("deployment_id", e.deployment);
  v.col("tag", e.tag);
  v.col("name", e.name);
  v.col("status", e.status);
  v.col("message", e.message);
  v.col("config", e.config);
  v.col("agent_config", e.agent_config);
  v.col("metadata", e.metadata);
  v.col("created_at", e.created_at);
  v.col("retired", e.retired);
  v.col("created_by", e.created_by);
  v.col("bypass_freeze", e.bypass_freeze);
  v.col("bypass_freeze_ids", e.bypass_freeze_ids);
  v.col("target_selector", e.target_selector);
  v.col("on_selector_error", e.on_selector_error);
}

template <class V, class E>
void describe(V& v, E& e, const Policy*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("description", e.description);
  v.col("selector", e.selector);
  v.col("priority", e.priority);
  v.col("enabled", e.enabled);
  v.col("metadata", e.metadata);
  v.col("rules", e.rules);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const Approval*) {
  v.key("version_id", e.version);
  v.key("environment_id", e.environment);
  v.key("actor", e.actor);
  v.col("status", e.status);
  v.col("role", e.role);
  v.col("reason", e.reason);
  v.col("at", e.at);
}

template <class V, class E>
void describe(V& v, E& e, const PolicySkip*) {
  v.key("id", e.id);
  v.col("rule_id", e.rule);
  v.col("version_id", e.version);
  v.col("environment_id", e.environment);
  v.col("resource_id", e.resource);
  v.col("expires_at", e.expires_at);
  v.col("reason", e.reason);
  v.col("created_by", e.created_by);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const VersionDependency*) {
  v.key("version_id", e.version);
  v.key("on_deployment_id", e.on);
  v.col("selector", e.selector);
}

template <class V, class E>
void describe(V& v, E& e, const Setting*) {
  v.key("name", e.name);
  v.col("value", e.value);
}

template <class V, class E>
void describe(V& v, E& e, const NotificationChannel*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("kind", e.kind);
  v.col("config", e.config);
  v.col("secret", e.secret);
  v.col("enabled", e.enabled);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const Freeze*) {
  v.key("id", e.id);
  v.col("scope", e.scope);
  v.col("scope_entity_id", e.scope_entity);
  v.col("reason", e.reason);
  v.col("incident_url", e.incident_url);
  v.col("created_by", e.created_by);
  v.col("created_at", e.created_at);
  v.col("effective_at", e.effective_at);
  v.col("expires_at", e.expires_at);
  v.col("thawed_at", e.thawed_at);
  v.col("thawed_by", e.thawed_by);
  v.col("thaw_reason", e.thaw_reason);
  v.col("selector", e.selector);
  v.col("in_flight", e.in_flight);
  v.col("metadata", e.metadata);
  v.col("activated_at", e.activated_at);
  v.col("warn_at", e.warn_at);
  v.col("resume_per_minute", e.resume_per_minute);
  v.col("passed", e.passed);
  v.col("spans", e.spans);
  v.col("retired", e.retired);
}

template <class V, class E>
void describe(V& v, E& e, const FreezeEvent*) {
  v.key("id", e.id);
  v.col("freeze_id", e.freeze);
  v.col("action", e.action);
  v.col("actor", e.actor);
  v.col("note", e.note);
  v.col("metadata", e.metadata);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const BracketGroup*) {
  v.key("id", e.id);
  v.col("bracket_rule_id", e.rule);
  v.col("resource_id", e.resource);
  v.col("environment_id", e.environment);
  v.col("collection_started_at", e.collection_started_at);
  v.col("collection_ends_at", e.collection_ends_at);
  v.col("status", e.status);
  v.col("ready_at", e.ready_at);
  v.col("started_at", e.started_at);
  v.col("finished_at", e.finished_at);
  v.col("created_at", e.created_at);
  v.col("terms", e.terms);
  v.col("course", e.course);
  v.col("stuck_since", e.stuck_since);
  v.col("handed_over_at", e.handed_over_at);
  v.col("closed_by", e.closed_by);
  v.col("finish_by", e.finish_by);
  v.col("note", e.note);
  v.col("merged_into", e.merged_into);
  v.col("retired", e.retired);
}

template <class V, class E>
void describe(V& v, E& e, const BracketMember*) {
  v.key("group_id", e.group);
  v.key("deployment_id", e.deployment);
  v.col("role", e.role);
  v.col("participation", e.participation);
  v.col("outcome", e.outcome);
  v.col("version_id", e.version);
  v.col("locked_at", e.locked_at);
  v.col("next_version_id", e.next_version);
  v.col("previous_version_id", e.previous);
  v.col("attempts", e.attempts);
  v.col("last_job_id", e.last_job);
  v.col("started_at", e.started_at);
  v.col("finished_at", e.finished_at);
  v.col("depends_on", e.depends_on);
  v.col("retired", e.retired);
}

template <class V, class E>
void describe(V& v, E& e, const ConcurrencySlot*) {
  v.key("rule_id", e.rule);
  v.key("resource_id", e.resource);
  v.col("group_id", e.group);
  v.col("since", e.since);
}

template <class V, class E>
void describe(V& v, E& e, const Quarantine*) {
  v.key("rule_id", e.rule);
  v.key("resource_id", e.resource);
  v.key("group_id", e.group);
  v.col("since", e.since);
  v.col("cleared_by", e.cleared_by);
  v.col("cleared_at", e.cleared_at);
}

template <class V, class E>
void describe(V& v, E& e, const Provider*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("metadata", e.metadata);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const Resource*) {
  v.key("id", e.id);
  v.col("identifier", e.identifier);
  v.col("name", e.name);
  v.col("kind", e.kind);
  v.col("version", e.version);
  v.col("config", e.config);
  v.col("metadata", e.metadata);
  v.col("provider_id", e.provider);
  v.col("created_at", e.created_at);
  v.col("updated_at", e.updated_at);
}

template <class V, class E>
void describe(V& v, E& e, const JobAgent*) {
  v.key("id", e.id);
  v.col("name", e.name);
  v.col("type", e.type);
  v.col("config", e.config);
  v.col("metadata", e.metadata);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const Release*) {
  v.key("id", e.id);
  v.col("resource_id", e.target.resource);
  v.col("environment_id", e.target.environment);
  v.col("deployment_id", e.target.deployment);
  v.col("version_id", e.version);
  v.col("variables", e.variables);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const Job*) {
  v.key("id", e.id);
  v.col("resource_id", e.target.resource);
  v.col("environment_id", e.target.environment);
  v.col("deployment_id", e.target.deployment);
  v.col("release_id", e.release);
  v.col("version_id", e.version);
  v.col("agent_id", e.agent);
  v.col("cause", e.cause);
  v.col("status", e.status);
  v.col("message", e.message);
  v.col("external_id", e.external_id);
  v.col("live", e.live);
  v.col("cancelled_by_engine", e.cancelled_by_engine);
  v.col("fences_itself", e.fences_itself);
  v.col("holder", e.holder);
  v.col("shared_part", e.shared_part);
  v.col("resource_part", e.resource_part);
  v.col("created_at", e.created_at);
  v.col("timeout_us", e.timeout);
  v.col("handed_over_at", e.handed_over_at);
  v.col("started_at", e.started_at);
  v.col("cancel_requested_at", e.cancel_requested_at);
  v.col("ended_at", e.ended_at);
  v.col("updated_at", e.updated_at);
  v.col("stopped_by", e.stopped_by);
  v.col("group_id", e.group);
  v.col("slots", e.slots);
}

template <class V, class E>
void describe(V& v, E& e, const TargetState*) {
  describe_target_key(v, e.key);
  v.col("desired_release_id", e.desired_release);
  v.col("desired_version_id", e.desired_version);
  v.col("current_release_id", e.current_release);
  v.col("current_version_id", e.current_version);
  v.col("current_since", e.current_since);
  v.col("chain_release_id", e.chain_release);
  v.col("attempts", e.attempts);
  v.col("last_job_id", e.last_job);
  v.col("last_status", e.last_status);
  v.col("last_ended_at", e.last_ended_at);
  v.col("past", e.past);
  v.col("denied", e.denied);
  v.col("last_version_id", e.last_version);
  v.col("endings", e.endings);
}

template <class V, class E>
void describe(V& v, E& e, const ContextPart*) {
  v.key("digest", e.digest);
  v.col("body", e.body);
  v.col("stored_at", e.stored_at);
}

template <class V, class E>
void describe(V& v, E& e, const OutboxItem*) {
  v.key("id", e.id);
  v.col("kind", e.kind);
  v.col("status", e.status);
  v.col("job_id", e.job);
  v.col("channel", e.channel);
  v.col("payload", e.payload);
  v.col("attempt", e.attempt);
  v.col("last_error", e.last_error);
  v.col("created_at", e.created_at);
  v.col("next_attempt_at", e.next_attempt_at);
  v.col("ended_at", e.ended_at);
  v.col("in_doubt", e.in_doubt);
  v.col("asking", e.asking);
  v.col("recipient_id", e.recipient);
}

template <class V, class E>
void describe(V& v, E& e, const IdempotencyRecord*) {
  v.key("key", e.key);
  v.col("body", e.body);
  v.col("status", e.status);
  v.col("subject", e.subject);
  v.col("reply", e.reply);
  v.col("created_at", e.created_at);
}

template <class V, class E>
void describe(V& v, E& e, const AuditEntry*) {
  v.key("id", e.id);
  v.col("at", e.at);
  v.col("actor", e.actor);
  v.col("action", e.action);
  v.col("subject", e.subject);
  v.col("details", e.details);
}

}  // namespace ctrlplane::store
