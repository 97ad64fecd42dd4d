// Migration 1 for PostgreSQL: frozen. A change of the schema is a new migration.
//
// Text sorts by bytes (COLLATE "C"), as it does in SQLite. The tables a fan-out updates leave room on
// their pages, so that an update of columns without an index stays on its page (HOT).
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kPostgresSchema1 = R"sql(
CREATE TABLE workspace_owner (
  workspace_id uuid NOT NULL PRIMARY KEY,
  replica uuid NOT NULL,
  token uuid NOT NULL,
  epoch bigint NOT NULL,
  seq bigint NOT NULL,
  last_now bigint NOT NULL,
  next_due_at bigint
) WITH (fillfactor = 50);
CREATE TABLE replica (
  id uuid NOT NULL PRIMARY KEY,
  address text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  beat bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE "workspace" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "slug" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "system" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "slug" text COLLATE "C" NOT NULL,
  "description" text COLLATE "C" NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "environment" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "description" text COLLATE "C" NOT NULL,
  "resource_selector" text COLLATE "C",
  "metadata" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "deployment" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "slug" text COLLATE "C" NOT NULL,
  "description" text COLLATE "C" NOT NULL,
  "resource_selector" text COLLATE "C",
  "agent_selector" text COLLATE "C" NOT NULL,
  "agent_config" text COLLATE "C" NOT NULL,
  "job_timeout_us" bigint,
  "metadata" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "system_deployment" (
  workspace_id uuid NOT NULL,
  "system_id" uuid NOT NULL,
  "deployment_id" uuid NOT NULL,
  PRIMARY KEY (workspace_id, "system_id", "deployment_id")
);
CREATE TABLE "system_environment" (
  workspace_id uuid NOT NULL,
  "system_id" uuid NOT NULL,
  "environment_id" uuid NOT NULL,
  PRIMARY KEY (workspace_id, "system_id", "environment_id")
);
CREATE TABLE "deployment_version" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "deployment_id" uuid NOT NULL,
  "tag" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "message" text COLLATE "C" NOT NULL,
  "config" text COLLATE "C" NOT NULL,
  "agent_config" text COLLATE "C" NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  "retired" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "resource_provider" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "resource" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "identifier" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "version" text COLLATE "C" NOT NULL,
  "config" text COLLATE "C" NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "provider_id" uuid,
  "created_at" bigint NOT NULL,
  "updated_at" bigint,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "job_agent" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "type" text COLLATE "C" NOT NULL,
  "config" text COLLATE "C" NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "release" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "resource_id" uuid NOT NULL,
  "environment_id" uuid NOT NULL,
  "deployment_id" uuid NOT NULL,
  "version_id" uuid NOT NULL,
  "variables" uuid NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "job" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "resource_id" uuid NOT NULL,
  "environment_id" uuid NOT NULL,
  "deployment_id" uuid NOT NULL,
  "release_id" uuid NOT NULL,
  "version_id" uuid NOT NULL,
  "agent_id" uuid NOT NULL,
  "cause" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "message" text COLLATE "C" NOT NULL,
  "external_id" text COLLATE "C" NOT NULL,
  "live" bigint NOT NULL,
  "cancelled_by_engine" bigint NOT NULL,
  "fences_itself" bigint NOT NULL,
  "holder" text COLLATE "C" NOT NULL,
  "shared_part" uuid NOT NULL,
  "resource_part" uuid NOT NULL,
  "created_at" bigint NOT NULL,
  "timeout_us" bigint,
  "handed_over_at" bigint,
  "started_at" bigint,
  "cancel_requested_at" bigint,
  "ended_at" bigint,
  "updated_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) WITH (fillfactor = 85);
CREATE TABLE "release_target" (
  workspace_id uuid NOT NULL,
  "resource_id" uuid NOT NULL,
  "environment_id" uuid NOT NULL,
  "deployment_id" uuid NOT NULL,
  "desired_release_id" uuid,
  "desired_version_id" uuid,
  "current_release_id" uuid,
  "current_version_id" uuid,
  "current_since" bigint,
  "chain_release_id" uuid,
  "attempts" bigint NOT NULL,
  "last_job_id" uuid,
  "last_status" text COLLATE "C",
  "last_ended_at" bigint,
  "past" bytea NOT NULL,
  PRIMARY KEY (workspace_id, "resource_id", "environment_id", "deployment_id")
) WITH (fillfactor = 70);
CREATE TABLE "context_part" (
  workspace_id uuid NOT NULL,
  "digest" uuid NOT NULL,
  "body" text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, "digest")
);
CREATE TABLE "outbox" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "job_id" uuid,
  "channel" text COLLATE "C" NOT NULL,
  "payload" text COLLATE "C" NOT NULL,
  "attempt" bigint NOT NULL,
  "last_error" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  "next_attempt_at" bigint NOT NULL,
  "ended_at" bigint,
  "in_doubt" bigint NOT NULL,
  "asking" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "idempotency" (
  workspace_id uuid NOT NULL,
  "key" uuid NOT NULL,
  "body" uuid NOT NULL,
  "status" bigint NOT NULL,
  "subject" uuid NOT NULL,
  "reply" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "key")
);
CREATE TABLE "audit_entry" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "at" bigint NOT NULL,
  "actor" text COLLATE "C" NOT NULL,
  "action" text COLLATE "C" NOT NULL,
  "subject" text COLLATE "C" NOT NULL,
  "details" text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
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
