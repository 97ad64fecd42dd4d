// Migration 6 for PostgreSQL: freezes with their history, channels for news of them, permissions beyond a role.
//
// A binary that does not know freezes would start what is frozen, so it may not work on this schema.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kPostgresSchema6 = R"sql(
CREATE TABLE "workspace_setting" (
  workspace_id uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, "name")
);
CREATE TABLE "notification_channel" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "config" text COLLATE "C" NOT NULL,
  "secret" text COLLATE "C" NOT NULL,
  "enabled" bigint NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "deployment_freeze" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "scope" text COLLATE "C" NOT NULL,
  "scope_entity_id" uuid,
  "reason" text COLLATE "C" NOT NULL,
  "incident_url" text COLLATE "C" NOT NULL,
  "created_by" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  "effective_at" bigint NOT NULL,
  "expires_at" bigint,
  "thawed_at" bigint,
  "thawed_by" text COLLATE "C" NOT NULL,
  "thaw_reason" text COLLATE "C" NOT NULL,
  "selector" text COLLATE "C",
  "in_flight" text COLLATE "C" NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "activated_at" bigint,
  "warn_at" bigint,
  "resume_per_minute" bigint,
  "passed" bytea NOT NULL,
  "spans" text COLLATE "C" NOT NULL,
  "retired" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE TABLE "deployment_freeze_event" (
  workspace_id uuid NOT NULL,
  "id" uuid NOT NULL,
  "freeze_id" uuid NOT NULL,
  "action" text COLLATE "C" NOT NULL,
  "actor" text COLLATE "C" NOT NULL,
  "note" text COLLATE "C" NOT NULL,
  "metadata" text COLLATE "C" NOT NULL,
  "created_at" bigint NOT NULL,
  PRIMARY KEY (workspace_id, "id")
);
CREATE INDEX deployment_freeze_hot ON deployment_freeze (workspace_id) WHERE retired = 0;
CREATE INDEX deployment_freeze_by_age ON deployment_freeze (workspace_id, created_at, id);
CREATE INDEX deployment_freeze_event_of ON deployment_freeze_event (workspace_id, freeze_id, id);
ALTER TABLE deployment_version ADD COLUMN bypass_freeze bigint NOT NULL DEFAULT 0;
ALTER TABLE deployment_version ADD COLUMN bypass_freeze_ids bytea NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN stopped_by uuid;
ALTER TABLE outbox ADD COLUMN recipient_id uuid;
ALTER TABLE api_key ADD COLUMN grants text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE workspace_member ADD COLUMN grants text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX outbox_of_recipient ON outbox (workspace_id, recipient_id, created_at, id)
  WHERE recipient_id IS NOT NULL;
)sql";

}  // namespace ctrlplane::store
