// Migration 3 for PostgreSQL: policies, and what people said about versions.
//
// The rules of a policy are one JSON array: they are read and written together, and only here is their order.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kPostgresSchema3 = R"sql(
CREATE TABLE "policy" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "description" text COLLATE "C" NOT NULL,
  "selector" text COLLATE "C" NOT NULL,
  "priority" bigint NOT NULL,
  "enabled" bigint NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "rules" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "approval" (
  workspace_id uuid NOT NULL,
  "version_id" uuid NOT NULL,
  "environment_id" uuid NOT NULL,
  "actor" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "role" text COLLATE "C",
  "reason" text COLLATE "C" NOT NULL,
  "at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "version_id", "environment_id", "actor")
);
CREATE TABLE "policy_skip" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "rule_id" uuid NOT NULL,
  "version_id" uuid NOT NULL,
  "environment_id" uuid,
  "resource_id" uuid,
  "expires_at" bigint,
  "reason" text COLLATE "C" NOT NULL,
  "created_by" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "version_dependency" (
  workspace_id uuid NOT NULL,
  "version_id" uuid NOT NULL,
  "on_deployment_id" uuid NOT NULL,
  "selector" text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, "version_id", "on_deployment_id")
);
ALTER TABLE deployment_version ADD COLUMN created_by text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE release_target ADD COLUMN denied bytea NOT NULL DEFAULT '';
ALTER TABLE release_target ADD COLUMN last_version_id uuid;
)sql";

}  // namespace ctrlplane::store
