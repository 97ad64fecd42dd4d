// Migration 2 for PostgreSQL: accounts, the output of jobs, the age of context parts, and indexes for
// reading history.
//
// A job's status is indexed only once it has ended: until then it changes with every report, and each
// change would write the index too. Jobs that have not ended are in memory.
// Output is kept as bytes: what a command prints need not be text.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kPostgresSchema2 = R"sql(
CREATE TABLE "user_account" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "email" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "password_hash" text COLLATE "C" NOT NULL,
  "admin" bigint NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "api_key" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "user_id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "prefix" text COLLATE "C" NOT NULL,
  "secret_hash" text COLLATE "C" NOT NULL,
  "role" text COLLATE "C",
  "key_workspace_id" uuid,
  "expires_at" bigint,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "user_session" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "user_id" uuid NOT NULL,
  "token_hash" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  "expires_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "workspace_member" (
  workspace_id uuid NOT NULL,
  "member_workspace_id" uuid NOT NULL,
  "user_id" uuid NOT NULL,
  "role" text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, "member_workspace_id", "user_id")
);
CREATE TABLE "job_output" (
  workspace_id uuid NOT NULL,
  "job_id" uuid NOT NULL,
  "at_offset" bigint NOT NULL,
  "text" bytea NOT NULL,
  PRIMARY KEY (workspace_id, "job_id", "at_offset")
);
ALTER TABLE context_part ADD COLUMN stored_at bigint;
CREATE INDEX context_part_age ON context_part (workspace_id, stored_at) WHERE stored_at IS NOT NULL;
CREATE INDEX job_by_age ON job (workspace_id, created_at, id);
CREATE INDEX job_of_agent ON job (workspace_id, agent_id, created_at, id);
CREATE INDEX job_outcome ON job (workspace_id, agent_id, status, created_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX job_of_deployment ON job (workspace_id, deployment_id, created_at, id);
)sql";

}  // namespace ctrlplane::store
