-- Operators, webhooks, events, the ingest queue, definitions and runs, in SQLite. The statements of Postgres have the same names, parameters and columns.

-- name: hash_key
SELECT key FROM token_key;

-- name: add_hash_key
INSERT INTO token_key (one, key) VALUES (1, ?) ON CONFLICT DO NOTHING;

-- name: has_operator
SELECT count(*) FROM (SELECT 1 FROM operator LIMIT 1);

-- name: add_operator
INSERT INTO operator (name, body) VALUES (:name, :body) ON CONFLICT DO NOTHING;

-- name: operators
SELECT body, revoked_at FROM operator ORDER BY name;

-- name: operator
SELECT body, revoked_at FROM operator WHERE name = :name;

-- name: revoke_operator
UPDATE operator SET revoked_at = :at WHERE name = :name AND revoked_at IS NULL;

-- name: revoke_tokens
UPDATE token SET revoked_at = :at WHERE operator = :name AND revoked_at IS NULL;

-- name: end_tokens
UPDATE token SET expires_at = min(IFNULL(expires_at, :at), :at) WHERE operator = :name AND revoked_at IS NULL;

-- name: add_token
INSERT INTO token (id, operator, hash, made_at, expires_at) VALUES (:id, :operator, :hash, :made_at, :expires_at);

-- name: tokens
SELECT id, operator, hash, made_at, expires_at, used_at, revoked_at FROM token ORDER BY made_at, id;

-- name: token
SELECT id, operator, hash, made_at, expires_at, used_at, revoked_at FROM token WHERE id = :id;

-- name: set_token_used
UPDATE token SET used_at = max(IFNULL(used_at, 0), :at) WHERE id = :id;

-- name: events
SELECT seq, CAST(body AS BLOB),
  (SELECT person.user FROM ledger_person AS person WHERE person.mark = json_extract(body, '$.person'))
FROM ledger
WHERE seq > :after AND (:tenant IS NULL OR tenant = :tenant) AND kind <> 'recalled'
ORDER BY seq LIMIT :limit;

-- name: last_sequence
SELECT IFNULL(max(seq), 0) FROM ledger;

-- name: add_webhook
INSERT INTO webhook (id, url, secret, tenant, agents, made_at, position, review)
VALUES (:id, :url, :secret, :tenant, :agents, :made_at, :position, :review);

-- name: remove_webhook
DELETE FROM webhook WHERE id = :id;

-- name: webhooks
SELECT id, url, secret, tenant, agents, made_at, position, tries, due_at, error,
  (SELECT count(*) FROM dead_letter WHERE dead_letter.webhook = webhook.id), review
FROM webhook ORDER BY made_at, id;

-- The process that changes the row has exclusive use of the webhook until the lease ends.

-- name: lease_webhook
UPDATE webhook SET due_at = :until WHERE id = :id AND position = :position AND due_at = :due_at;

-- name: advance_webhook
UPDATE webhook SET position = :position, tries = 0, due_at = 0, error = NULL WHERE id = :id;

-- name: fail_webhook
UPDATE webhook SET tries = :tries, due_at = :due_at, error = :error WHERE id = :id;

-- name: add_dead_letter
INSERT INTO dead_letter (webhook, seq, at, error) VALUES (:id, :seq, :at, :error) ON CONFLICT DO NOTHING;

-- name: remove_dead_letter
DELETE FROM dead_letter WHERE webhook = :id AND seq = :seq;

-- name: dead_letters
SELECT seq, at, error FROM dead_letter WHERE webhook = :id ORDER BY seq;

-- Proposals are stored in order of arrival, so the first waiting one has waited longest.

-- name: waiting_proposals_status
SELECT count(*), (
  SELECT json_extract(body, '$.at') FROM proposal WHERE state IN ('pending', 'stale') ORDER BY position LIMIT 1
) FROM proposal WHERE state IN ('pending', 'stale');

-- name: outbox_status
SELECT store, count(*), min(at) FROM debt GROUP BY store ORDER BY store;

-- name: webhooks_status
SELECT count(*) FILTER (WHERE tries > 0), (SELECT count(*) FROM dead_letter) FROM webhook;

-- Every tenant with ledger entries about memories, or with proposals that wait or waited for a person.
-- Each tenant takes one step in an index, independent of the number of entries.

-- name: tenants
WITH RECURSIVE remembered (tenant) AS (
  SELECT min(tenant) FROM ledger_salt
  UNION ALL
  SELECT (SELECT min(later.tenant) FROM ledger_salt AS later WHERE later.tenant > remembered.tenant)
  FROM remembered WHERE remembered.tenant IS NOT NULL
), proposed (tenant) AS (
  SELECT min(tenant) FROM proposal
  UNION ALL
  SELECT (SELECT min(later.tenant) FROM proposal AS later WHERE later.tenant > proposed.tenant)
  FROM proposed WHERE proposed.tenant IS NOT NULL
)
SELECT tenant FROM remembered WHERE tenant IS NOT NULL
UNION
SELECT tenant FROM proposed WHERE tenant IS NOT NULL
ORDER BY tenant;

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

-- name: set_ingest_facts
UPDATE ingest SET facts = :facts WHERE id = :id AND state = 'pending';

-- name: postpone_ingest
UPDATE ingest SET tries = :tries, due_at = :due_at, error = :error WHERE id = :id AND state = 'pending';

-- name: end_ingest
UPDATE ingest SET state = :state, error = :error, turns = NULL, facts = :facts
WHERE id = :id AND state = 'pending';

-- name: count_waiting_ingests
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

-- name: add_run
INSERT INTO openwop_run (id, tenant, caller, workflow, status, at, ended_at, body)
VALUES (:id, :tenant, :caller, :workflow, :status, :at, :ended_at, :body);

-- name: run
SELECT id, tenant, caller, workflow, status, at, ended_at, body FROM openwop_run
WHERE id = :id AND tenant = :tenant;

-- name: open_runs_before
SELECT id, tenant, caller, workflow, status, at, ended_at, body FROM openwop_run
WHERE status = 'running' AND at < :moment ORDER BY at;

-- name: end_run
UPDATE openwop_run SET status = :status, ended_at = :ended_at, body = :body
WHERE id = :id AND status = 'running' RETURNING id;

-- name: last_run_event
SELECT IFNULL(max(sequence), 0) FROM openwop_event WHERE run = :run;

-- name: add_run_event
INSERT INTO openwop_event (run, sequence, id, at, type, payload)
VALUES (:run, :sequence, :id, :at, :type, :payload);

-- name: run_events
SELECT id, run, sequence, at, type, payload FROM openwop_event
WHERE run = :run AND sequence > :after ORDER BY sequence;

-- name: add_run_read
INSERT INTO openwop_read (run, agent, user, memory, version)
VALUES (:run, :agent, :user, :memory, :version) ON CONFLICT DO NOTHING;

-- name: run_reads
SELECT agent, user, memory, version FROM openwop_read WHERE run = :run ORDER BY memory, version;
