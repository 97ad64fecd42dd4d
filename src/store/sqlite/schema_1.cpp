// Migration 1 for SQLite: frozen. A change of the schema is a new migration.
//
// Rows that are small and reached by their key live in the key's own tree (WITHOUT ROWID): one tree
// fewer to write for each release, job and release target. There is no table of replicas: only one
// process can hold the file. The statements name the indexes called <table>_hot.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema1 = R"sql(
CREATE TABLE workspace_owner (
  workspace_id BLOB NOT NULL PRIMARY KEY,
  replica BLOB NOT NULL,
  token BLOB NOT NULL,
  epoch INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  last_now INTEGER NOT NULL,
  next_due_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE "workspace" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "slug" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "system" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "slug" TEXT NOT NULL,
  "description" TEXT NOT NULL,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "environment" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "description" TEXT NOT NULL,
  "resource_selector" TEXT,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "deployment" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "slug" TEXT NOT NULL,
  "description" TEXT NOT NULL,
  "resource_selector" TEXT,
  "agent_selector" TEXT NOT NULL,
  "agent_config" TEXT NOT NULL,
  "job_timeout_us" INTEGER,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "system_deployment" (
  workspace_id BLOB NOT NULL,
  "system_id" BLOB NOT NULL,
  "deployment_id" BLOB NOT NULL,
  PRIMARY KEY (workspace_id, "system_id", "deployment_id")
) STRICT, WITHOUT ROWID;
CREATE TABLE "system_environment" (
  workspace_id BLOB NOT NULL,
  "system_id" BLOB NOT NULL,
  "environment_id" BLOB NOT NULL,
  PRIMARY KEY (workspace_id, "system_id", "environment_id")
) STRICT, WITHOUT ROWID;
CREATE TABLE "deployment_version" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "deployment_id" BLOB NOT NULL,
  "tag" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "message" TEXT NOT NULL,
  "config" TEXT NOT NULL,
  "agent_config" TEXT NOT NULL,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  "retired" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "resource_provider" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "resource" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "identifier" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "version" TEXT NOT NULL,
  "config" TEXT NOT NULL,
  "metadata" TEXT NOT NULL,
  "provider_id" BLOB,
  "created_at" INTEGER NOT NULL,
  "updated_at" INTEGER,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "job_agent" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "type" TEXT NOT NULL,
  "config" TEXT NOT NULL,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "release" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "resource_id" BLOB NOT NULL,
  "environment_id" BLOB NOT NULL,
  "deployment_id" BLOB NOT NULL,
  "version_id" BLOB NOT NULL,
  "variables" BLOB NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT, WITHOUT ROWID;
CREATE TABLE "job" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "resource_id" BLOB NOT NULL,
  "environment_id" BLOB NOT NULL,
  "deployment_id" BLOB NOT NULL,
  "release_id" BLOB NOT NULL,
  "version_id" BLOB NOT NULL,
  "agent_id" BLOB NOT NULL,
  "cause" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "message" TEXT NOT NULL,
  "external_id" TEXT NOT NULL,
  "live" INTEGER NOT NULL,
  "cancelled_by_engine" INTEGER NOT NULL,
  "fences_itself" INTEGER NOT NULL,
  "holder" TEXT NOT NULL,
  "shared_part" BLOB NOT NULL,
  "resource_part" BLOB NOT NULL,
  "created_at" INTEGER NOT NULL,
  "timeout_us" INTEGER,
  "handed_over_at" INTEGER,
  "started_at" INTEGER,
  "cancel_requested_at" INTEGER,
  "ended_at" INTEGER,
  "updated_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT, WITHOUT ROWID;
CREATE TABLE "release_target" (
  workspace_id BLOB NOT NULL,
  "resource_id" BLOB NOT NULL,
  "environment_id" BLOB NOT NULL,
  "deployment_id" BLOB NOT NULL,
  "desired_release_id" BLOB,
  "desired_version_id" BLOB,
  "current_release_id" BLOB,
  "current_version_id" BLOB,
  "current_since" INTEGER,
  "chain_release_id" BLOB,
  "attempts" INTEGER NOT NULL,
  "last_job_id" BLOB,
  "last_status" TEXT,
  "last_ended_at" INTEGER,
  "past" BLOB NOT NULL,
  PRIMARY KEY (workspace_id, "resource_id", "environment_id", "deployment_id")
) STRICT, WITHOUT ROWID;
CREATE TABLE "context_part" (
  workspace_id BLOB NOT NULL,
  "digest" BLOB NOT NULL,
  "body" TEXT NOT NULL,
  PRIMARY KEY (workspace_id, "digest")
) STRICT;
CREATE TABLE "outbox" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "kind" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "job_id" BLOB,
  "channel" TEXT NOT NULL,
  "payload" TEXT NOT NULL,
  "attempt" INTEGER NOT NULL,
  "last_error" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  "next_attempt_at" INTEGER NOT NULL,
  "ended_at" INTEGER,
  "in_doubt" INTEGER NOT NULL,
  "asking" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "idempotency" (
  workspace_id BLOB NOT NULL,
  "key" BLOB NOT NULL,
  "body" BLOB NOT NULL,
  "status" INTEGER NOT NULL,
  "subject" BLOB NOT NULL,
  "reply" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "key")
) STRICT;
CREATE TABLE "audit_entry" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "at" INTEGER NOT NULL,
  "actor" TEXT NOT NULL,
  "action" TEXT NOT NULL,
  "subject" TEXT NOT NULL,
  "details" TEXT NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE INDEX deployment_version_history ON deployment_version (workspace_id, deployment_id, created_at);
CREATE INDEX deployment_version_tag ON deployment_version (workspace_id, deployment_id, tag);
CREATE INDEX deployment_version_hot ON deployment_version (workspace_id) WHERE retired = 0;
CREATE INDEX job_hot ON job (workspace_id) WHERE live = 1;
CREATE INDEX job_history ON job (workspace_id, deployment_id, resource_id, environment_id, created_at);
CREATE INDEX job_ended ON job (workspace_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX outbox_hot ON outbox (workspace_id) WHERE status IN ('pending', 'sending');
CREATE INDEX outbox_ended ON outbox (workspace_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX idempotency_age ON idempotency (workspace_id, created_at);
CREATE INDEX audit_entry_age ON audit_entry (workspace_id, "at");
)sql";

}  // namespace ctrlplane::store
