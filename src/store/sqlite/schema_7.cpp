// Migration 7 for SQLite: brackets with their members, slots of resources, and quarantine.
//
// A binary that does not know brackets would start what one holds, so it may not work on this schema.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema7 = R"sql(
CREATE TABLE "bracket_version_group" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "bracket_rule_id" BLOB NOT NULL,
  "resource_id" BLOB NOT NULL,
  "environment_id" BLOB NOT NULL,
  "collection_started_at" INTEGER NOT NULL,
  "collection_ends_at" INTEGER NOT NULL,
  "status" TEXT NOT NULL,
  "ready_at" INTEGER,
  "started_at" INTEGER,
  "finished_at" INTEGER,
  "created_at" INTEGER NOT NULL,
  "terms" TEXT NOT NULL,
  "course" TEXT NOT NULL,
  "stuck_since" INTEGER,
  "handed_over_at" INTEGER,
  "closed_by" TEXT NOT NULL,
  "finish_by" TEXT NOT NULL,
  "note" TEXT NOT NULL,
  "merged_into" BLOB,
  "retired" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "bracket_version_group_member" (
  workspace_id BLOB NOT NULL,
  "group_id" BLOB NOT NULL,
  "deployment_id" BLOB NOT NULL,
  "role" TEXT NOT NULL,
  "participation" TEXT NOT NULL,
  "outcome" TEXT NOT NULL,
  "version_id" BLOB,
  "locked_at" INTEGER,
  "next_version_id" BLOB,
  "previous_version_id" BLOB,
  "attempts" INTEGER NOT NULL,
  "last_job_id" BLOB,
  "started_at" INTEGER,
  "finished_at" INTEGER,
  "depends_on" TEXT NOT NULL,
  "retired" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "group_id", "deployment_id")
) STRICT;
CREATE TABLE "resource_slot" (
  workspace_id BLOB NOT NULL,
  "rule_id" BLOB NOT NULL,
  "resource_id" BLOB NOT NULL,
  "group_id" BLOB,
  "since" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "rule_id", "resource_id")
) STRICT;
CREATE TABLE "bracket_quarantine" (
  workspace_id BLOB NOT NULL,
  "rule_id" BLOB NOT NULL,
  "resource_id" BLOB NOT NULL,
  "group_id" BLOB NOT NULL,
  "since" INTEGER NOT NULL,
  "cleared_by" TEXT NOT NULL,
  "cleared_at" INTEGER,
  PRIMARY KEY (workspace_id, "rule_id", "resource_id", "group_id")
) STRICT;
CREATE INDEX bracket_version_group_hot ON bracket_version_group (workspace_id) WHERE retired = 0;
CREATE INDEX bracket_version_group_by_age ON bracket_version_group (workspace_id, created_at, id);
CREATE INDEX bracket_version_group_of_resource
  ON bracket_version_group (workspace_id, resource_id, created_at, id);
CREATE INDEX bracket_version_group_member_hot ON bracket_version_group_member (workspace_id)
  WHERE retired = 0;
CREATE INDEX bracket_quarantine_hot ON bracket_quarantine (workspace_id) WHERE cleared_by = '';
ALTER TABLE job ADD COLUMN group_id BLOB;
ALTER TABLE job ADD COLUMN slots BLOB NOT NULL DEFAULT x'';
CREATE INDEX job_of_group ON job (workspace_id, group_id, created_at, id) WHERE group_id IS NOT NULL;
)sql";

}  // namespace ctrlplane::store
