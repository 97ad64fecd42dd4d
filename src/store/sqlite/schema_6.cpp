// Migration 6 for SQLite: freezes with their history, channels for news of them, permissions beyond a role.
//
// A binary that does not know freezes would start what is frozen, so it may not work on this schema.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema6 = R"sql(
CREATE TABLE "workspace_setting" (
  workspace_id BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "value" TEXT NOT NULL,
  PRIMARY KEY (workspace_id, "name")
) STRICT;
CREATE TABLE "notification_channel" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "name" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "config" TEXT NOT NULL,
  "secret" TEXT NOT NULL,
  "enabled" INTEGER NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "deployment_freeze" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "scope" TEXT NOT NULL,
  "scope_entity_id" BLOB,
  "reason" TEXT NOT NULL,
  "incident_url" TEXT NOT NULL,
  "created_by" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  "effective_at" INTEGER NOT NULL,
  "expires_at" INTEGER,
  "thawed_at" INTEGER,
  "thawed_by" TEXT NOT NULL,
  "thaw_reason" TEXT NOT NULL,
  "selector" TEXT,
  "in_flight" TEXT NOT NULL,
  "metadata" TEXT NOT NULL,
  "activated_at" INTEGER,
  "warn_at" INTEGER,
  "resume_per_minute" INTEGER,
  "passed" BLOB NOT NULL,
  "spans" TEXT NOT NULL,
  "retired" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE TABLE "deployment_freeze_event" (
  workspace_id BLOB NOT NULL,
  "id" BLOB NOT NULL,
  "freeze_id" BLOB NOT NULL,
  "action" TEXT NOT NULL,
  "actor" TEXT NOT NULL,
  "note" TEXT NOT NULL,
  "metadata" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, "id")
) STRICT;
CREATE INDEX deployment_freeze_hot ON deployment_freeze (workspace_id) WHERE retired = 0;
CREATE INDEX deployment_freeze_by_age ON deployment_freeze (workspace_id, created_at, id);
CREATE INDEX deployment_freeze_event_of ON deployment_freeze_event (workspace_id, freeze_id, id);
ALTER TABLE deployment_version ADD COLUMN bypass_freeze INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deployment_version ADD COLUMN bypass_freeze_ids BLOB NOT NULL DEFAULT x'';
ALTER TABLE job ADD COLUMN stopped_by BLOB;
ALTER TABLE outbox ADD COLUMN recipient_id BLOB;
ALTER TABLE api_key ADD COLUMN grants TEXT NOT NULL DEFAULT '';
ALTER TABLE workspace_member ADD COLUMN grants TEXT NOT NULL DEFAULT '';
CREATE INDEX outbox_of_recipient ON outbox (workspace_id, recipient_id, created_at, id)
  WHERE recipient_id IS NOT NULL;
)sql";

}  // namespace ctrlplane::store
