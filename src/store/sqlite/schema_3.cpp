// Migration 3 for SQLite: policies, and what people said about versions.
//
// The rules of a policy are one JSON array: they are read and written together, and only here is their order.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema3 = R"sql(
CREATE TABLE "policy" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "description" TEXT NOT NULL,
  "selector" TEXT NOT NULL,
  "priority" INTEGER NOT NULL,
  "enabled" INTEGER NOT NULL,
  "metadata" TEXT NOT NULL,
  "rules" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "approval" (
  workspace_id BLOB NOT NULL,
  "version_id" BLOB NOT NULL,
  "environment_id" BLOB NOT NULL,
  "actor" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "role" TEXT,
  "reason" TEXT NOT NULL,
  "at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "version_id", "environment_id", "actor")
) STRICT;
CREATE TABLE "policy_skip" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "rule_id" BLOB NOT NULL,
  "version_id" BLOB NOT NULL,
  "environment_id" BLOB,
  "resource_id" BLOB,
  "expires_at" INTEGER,
  "reason" TEXT NOT NULL,
  "created_by" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "version_dependency" (
  workspace_id BLOB NOT NULL,
  "version_id" BLOB NOT NULL,
  "on_deployment_id" BLOB NOT NULL,
  "selector" TEXT NOT NULL,
  PRIMARY KEY (workspace_id, "version_id", "on_deployment_id")
) STRICT, WITHOUT ROWID;
ALTER TABLE deployment_version ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE release_target ADD COLUMN denied BLOB NOT NULL DEFAULT x'';
ALTER TABLE release_target ADD COLUMN last_version_id BLOB;
)sql";

}  // namespace ctrlplane::store
