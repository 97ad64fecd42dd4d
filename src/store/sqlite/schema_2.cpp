// Migration 2 for SQLite: accounts, the output of jobs, the age of context parts, and indexes for
// reading history.
//
// A job's status is indexed only once it has ended: until then it changes with every report, and each
// change would write the index too. Jobs that have not ended are in memory.
// Output is kept as bytes: what a command prints need not be text.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema2 = R"sql(
CREATE TABLE "user_account" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "email" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "password_hash" TEXT NOT NULL,
  "admin" INTEGER NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "api_key" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "user_id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "prefix" TEXT NOT NULL,
  "secret_hash" TEXT NOT NULL,
  "role" TEXT,
  "key_workspace_id" BLOB,
  "expires_at" INTEGER,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "user_session" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "user_id" BLOB NOT NULL,
  "token_hash" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  "expires_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "workspace_member" (
  workspace_id BLOB NOT NULL,
  "member_workspace_id" BLOB NOT NULL,
  "user_id" BLOB NOT NULL,
  "role" TEXT NOT NULL,
  PRIMARY KEY (workspace_id, "member_workspace_id", "user_id")
) STRICT, WITHOUT ROWID;
CREATE TABLE "job_output" (
  workspace_id BLOB NOT NULL,
  "job_id" BLOB NOT NULL,
  "at_offset" INTEGER NOT NULL,
  "text" BLOB NOT NULL,
  PRIMARY KEY (workspace_id, "job_id", "at_offset")
) STRICT;
ALTER TABLE context_part ADD COLUMN stored_at INTEGER;
CREATE INDEX context_part_age ON context_part (workspace_id, stored_at) WHERE stored_at IS NOT NULL;
CREATE INDEX job_by_age ON job (workspace_id, created_at, id);
CREATE INDEX job_of_agent ON job (workspace_id, agent_id, created_at, id);
CREATE INDEX job_outcome ON job (workspace_id, agent_id, status, created_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX job_of_deployment ON job (workspace_id, deployment_id, created_at, id);
)sql";

}  // namespace ctrlplane::store
