-- name: add_ingest
INSERT INTO ingest (id, tenant, agent, user, caller, at, state, tries, due_at, error, turns, facts)
VALUES (:id, :tenant, :agent, :user, :caller, :at, 'pending', 0, :due_at, NULL, :turns, '{}');

-- name: ingest
SELECT id, tenant, agent, user, caller, at, state, tries, due_at, error, turns, facts FROM ingest
WHERE id = :id AND tenant = :tenant;

-- name: next_ingest
SELECT id, tenant, agent, user, caller, at, state, tries, due_at, error, turns, facts FROM ingest
WHERE state = 'pending' AND due_at <= :now ORDER BY due_at, position LIMIT 1;

-- name: lease_ingest
UPDATE ingest SET due_at = :until WHERE id = :id AND state = 'pending' AND due_at = :due_at;

-- name: note_ingest
UPDATE ingest SET facts = :facts WHERE id = :id AND state = 'pending';

-- name: put_off_ingest
UPDATE ingest SET tries = :tries, due_at = :due_at, error = :error WHERE id = :id AND state = 'pending';

-- name: end_ingest
UPDATE ingest SET state = :state, error = :error, turns = NULL, facts = :facts
WHERE id = :id AND state = 'pending';

-- name: waiting_ingests
SELECT count(*) FROM ingest WHERE state = 'pending';

-- name: drop_ingests
DELETE FROM ingest WHERE state <> 'pending' AND at < :before;

-- name: add_definition
INSERT INTO definition (tenant, name, edition, digest, parent, body, made_at, made_by)
VALUES (
  :tenant, :name,
  (SELECT IFNULL(max(edition), 0) + 1 FROM definition WHERE tenant = :tenant AND name = :name),
  :digest, :parent, :body, :made_at, :made_by
)
RETURNING edition;

-- name: definitions
SELECT tenant, name, edition, digest, parent, body, made_at, made_by, retired_at FROM definition
WHERE (:tenant IS NULL OR tenant = :tenant) ORDER BY tenant, name, edition;

-- name: retire_definition
UPDATE definition SET retired_at = :at WHERE tenant = :tenant AND digest = :digest AND retired_at IS NULL;

-- name: bind
INSERT INTO binding (tenant, agent, digest, made_at, made_by)
VALUES (:tenant, :agent, :digest, :made_at, :made_by)
ON CONFLICT (tenant, agent) DO UPDATE
SET digest = excluded.digest, made_at = excluded.made_at, made_by = excluded.made_by;

-- name: unbind
DELETE FROM binding WHERE tenant = :tenant AND agent = :agent;

-- name: bindings
SELECT tenant, agent, digest FROM binding WHERE (:tenant IS NULL OR tenant = :tenant) ORDER BY tenant, agent;
