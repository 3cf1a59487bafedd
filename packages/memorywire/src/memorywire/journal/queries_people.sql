-- What an erased user leaves behind: rows without content, in which a mark takes the place of the user's id.

-- name: has_memories
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'version';

-- Postgres shows the memories of one tenant at a time.

-- name: speak_for
SELECT :tenant;

-- name: owners_of_memories
SELECT DISTINCT user FROM version
WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids)) AND user IS NOT NULL;

-- name: owners_registered
SELECT DISTINCT user FROM register
WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids)) AND user IS NOT NULL;

-- The first is answered by an index where the user still has a live memory of that agent, as mostly.

-- name: left_live
SELECT count(*) FROM (
  SELECT 1 FROM version
  WHERE tenant = :tenant AND agent = :agent AND user = :user AND ended IS NULL AND user IS NOT NULL LIMIT 1
);

-- name: left_memories
SELECT count(*) FROM (
  SELECT 1 FROM version WHERE tenant = :tenant AND user = :user AND content IS NOT NULL LIMIT 1
);

-- name: is_registering
SELECT EXISTS (SELECT 1 FROM register WHERE tenant = :tenant);

-- name: left_elsewhere
SELECT count(*) FROM (
  SELECT 1 FROM proposal WHERE tenant = :tenant AND user = :user AND plan IS NOT NULL
  UNION ALL
  SELECT 1 FROM ingest WHERE tenant = :tenant AND user = :user AND state = 'pending'
  UNION ALL
  SELECT 1 FROM register WHERE tenant = :tenant AND user = :user AND live = 1
  UNION ALL
  SELECT 1 FROM debt WHERE instr(body, :quoted)
) AS kept;

-- name: is_named
SELECT count(*) FROM (
  SELECT 1 FROM ledger_person WHERE tenant = :tenant AND user = :user
  UNION ALL
  SELECT 1 FROM recalled WHERE tenant = :tenant AND user = :user
  UNION ALL
  SELECT 1 FROM proposal WHERE tenant = :tenant AND user = :user
  UNION ALL
  SELECT 1 FROM register WHERE tenant = :tenant AND user = :user
) AS rows_named;

-- name: rename_versions
UPDATE version SET user = :mark WHERE tenant = :tenant AND user = :user;

-- name: rename_changes
UPDATE change SET user = :mark,
  key = CASE WHEN instr(key, :user) THEN NULL ELSE key END,
  reason = CASE WHEN instr(reason, :user) THEN NULL ELSE reason END
WHERE tenant = :tenant AND user = :user;

-- name: rename_recalls
UPDATE recalled SET user = :mark, query = NULL, details = NULL WHERE tenant = :tenant AND user = :user;

-- name: drop_mentions
UPDATE recalled SET query = NULL, details = NULL WHERE tenant = :tenant AND instr(query, :user);

-- name: ruled_of
SELECT tenant, rule, change FROM ruled WHERE tenant = :tenant AND user = :user;

-- name: registered_of
SELECT tenant, id FROM register WHERE tenant = :tenant AND user = :user;

-- name: rename_ruled
UPDATE ruled SET user = :mark WHERE tenant = :tenant AND user = :user;

-- name: rename_registered
UPDATE register SET user = :mark WHERE tenant = :tenant AND user = :user;

-- name: rename_ingests
UPDATE ingest SET user = :mark, error = NULL WHERE tenant = :tenant AND user = :user;

-- name: rename_reads
UPDATE openwop_read SET user = :mark
WHERE user = :user AND run IN (SELECT id FROM openwop_run WHERE tenant = :tenant);

-- name: proposals_of
SELECT id, body FROM proposal WHERE tenant = :tenant AND user = :user;

-- name: rename_proposal
UPDATE proposal SET user = :mark, body = :body,
  key = CASE WHEN instr(key, :user) THEN NULL ELSE key END
WHERE tenant = :tenant AND id = :id;

-- name: runs_naming
SELECT id, body FROM openwop_run WHERE tenant = :tenant AND instr(body, :user);

-- name: rewrite_run
UPDATE openwop_run SET body = :body WHERE id = :id;

-- name: run_events_naming
SELECT run, sequence, payload FROM openwop_event
WHERE run IN (SELECT id FROM openwop_run WHERE tenant = :tenant) AND instr(payload, :user);

-- name: rewrite_run_event
UPDATE openwop_event SET payload = :payload WHERE run = :run AND sequence = :sequence;

-- name: remove_person
DELETE FROM ledger_person WHERE tenant = :tenant AND user = :user;
