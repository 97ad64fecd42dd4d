// Migration 7 for PostgreSQL: brackets with their members, slots of resources, and quarantine.
//
// A binary that does not know brackets would start what one holds, so it may not work on this schema.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kPostgresSchema7 = R"sql(
CREATE TABLE "bracket_version_group" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "bracket_rule_id" uuid NOT NULL,
  "resource_id" uuid NOT NULL,
  "environment_id" uuid NOT NULL,
  "collection_started_at" bigint NOT NULL,
  "collection_ends_at" bigint NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "ready_at" bigint,
  "started_at" bigint,
  "finished_at" bigint,
  "created_at" bigint NOT NULL,
  "terms" text COLLATE "C" NOT NULL,
  "course" text COLLATE "C" NOT NULL,
  "stuck_since" bigint,
  "handed_over_at" bigint,
  "closed_by" text COLLATE "C" NOT NULL,
  "finish_by" text COLLATE "C" NOT NULL,
  "note" text COLLATE "C" NOT NULL,
  "merged_into" uuid,
  "retired" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "bracket_version_group_member" (
  workspace_id uuid NOT NULL,
  "group_id" uuid NOT NULL,
  "deployment_id" uuid NOT NULL,
  "role" text COLLATE "C" NOT NULL,
  "participation" text COLLATE "C" NOT NULL,
  "outcome" text COLLATE "C" NOT NULL,
  "version_id" uuid,
  "locked_at" bigint,
  "next_version_id" uuid,
  "previous_version_id" uuid,
  "attempts" bigint NOT NULL,
  "last_job_id" uuid,
  "started_at" bigint,
  "finished_at" bigint,
  "depends_on" text COLLATE "C" NOT NULL,
  "retired" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "group_id", "deployment_id")
);
CREATE TABLE "resource_slot" (
  workspace_id uuid NOT NULL,
  "rule_id" uuid NOT NULL,
  "resource_id" uuid NOT NULL,
  "group_id" uuid,
  "since" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "rule_id", "resource_id")
);
CREATE TABLE "bracket_quarantine" (
  workspace_id uuid NOT NULL,
  "rule_id" uuid NOT NULL,
  "resource_id" uuid NOT NULL,
  "group_id" uuid NOT NULL,
  "since" bigint NOT NULL,
  "cleared_by" text COLLATE "C" NOT NULL,
  "cleared_at" bigint,
  PRIMARY KEY (workspace_id, "rule_id", "resource_id", "group_id")
);
CREATE INDEX bracket_version_group_hot ON bracket_version_group (workspace_id) WHERE retired = 0;
CREATE INDEX bracket_version_group_by_age ON bracket_version_group (workspace_id, created_at, id);
CREATE INDEX bracket_version_group_of_resource
  ON bracket_version_group (workspace_id, resource_id, created_at, id);
CREATE INDEX bracket_version_group_member_hot ON bracket_version_group_member (workspace_id)
  WHERE retired = 0;
CREATE INDEX bracket_quarantine_hot ON bracket_quarantine (workspace_id) WHERE cleared_by = '';
ALTER TABLE job ADD COLUMN group_id uuid;
ALTER TABLE job ADD COLUMN slots bytea NOT NULL DEFAULT '';
CREATE INDEX job_of_group ON job (workspace_id, group_id, created_at, id) WHERE group_id IS NOT NULL;
)sql";

}  // namespace ctrlplane::store
