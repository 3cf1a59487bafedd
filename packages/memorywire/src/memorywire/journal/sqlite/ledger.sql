-- The ledger, its users, and the rows whose digests it holds, in SQLite. The statements of Postgres have the same names, parameters and columns.

-- name: has_ledger
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ledger';

-- name: ledger_head
SELECT seq, chain FROM ledger ORDER BY seq DESC LIMIT 1;

-- name: ledger_head_for
SELECT seq, chain, (SELECT mark FROM ledger_person WHERE tenant = :tenant AND user = :user)
FROM ledger ORDER BY seq DESC LIMIT 1;

-- name: person_mark
SELECT mark FROM ledger_person WHERE tenant = :tenant AND user = :user;

-- name: add_person
INSERT INTO ledger_person (mark, tenant, user, salt) VALUES (:mark, :tenant, :user, :salt);

-- name: append_entry
INSERT INTO ledger (seq, body, chain) VALUES (?, ?, ?);

-- name: add_salt
INSERT INTO ledger_salt (seq, tenant, memory, version, salt) VALUES (?, ?, ?, ?, ?);

-- name: delete_salts
UPDATE ledger_salt SET salt = NULL
WHERE tenant = :tenant AND memory = :id AND salt IS NOT NULL
  AND (SELECT agent FROM ledger WHERE ledger.seq = ledger_salt.seq) = :agent;

-- name: salts_of_memory
SELECT seq, version, salt FROM ledger_salt WHERE tenant = :tenant AND memory = :memory ORDER BY seq, version;

-- A column whose type is not the one that was written is read as NULL.

-- name: operations_by_day
SELECT at / 86400000 AS day, operation, count(*)
FROM (SELECT at, operation, tenant FROM ledger ORDER BY seq DESC LIMIT :newest)
WHERE tenant = :tenant GROUP BY day, operation ORDER BY day;

-- name: entry
SELECT seq, CASE typeof(body) WHEN 'text' THEN CAST(body AS BLOB) END, CASE typeof(chain) WHEN 'blob' THEN chain END,
  (SELECT person.user FROM ledger_person AS person WHERE person.mark = json_extract(body, '$.person'))
FROM ledger WHERE seq = ?;

-- name: entries_after
SELECT seq, CASE typeof(body) WHEN 'text' THEN CAST(body AS BLOB) END, CASE typeof(chain) WHEN 'blob' THEN chain END
FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: filter_entries
SELECT seq, CAST(body AS BLOB), chain,
  (SELECT person.user FROM ledger_person AS person WHERE person.mark = json_extract(body, '$.person'))
FROM ledger
WHERE (:before IS NULL OR seq < :before)
  AND (:tenant IS NULL OR tenant = :tenant)
  AND (:agent IS NULL OR agent = :agent)
  AND (:user IS NULL OR user = :user OR json_extract(body, '$.person') IN (
    SELECT mark FROM ledger_person AS person
    WHERE (:tenant IS NULL OR person.tenant = :tenant) AND person.user = :user
  ))
  AND (:operation IS NULL OR operation = :operation)
  AND (:kind IS NULL OR kind = :kind)
  AND (:actor IS NULL OR actor = :actor)
  AND (:memory IS NULL OR instr(body, :memory))
  AND (:since IS NULL OR at >= :since)
  AND (:until IS NULL OR at < :until)
ORDER BY seq DESC LIMIT :limit;

-- name: entries_about
SELECT seq, CAST(body AS BLOB), chain,
  (SELECT person.user FROM ledger_person AS person WHERE person.mark = json_extract(body, '$.person'))
FROM ledger WHERE subject = :subject AND tenant = :tenant ORDER BY seq DESC;

-- name: tree_edge
SELECT size, chain, nodes FROM ledger_edge;

-- name: set_tree_edge
INSERT INTO ledger_edge (one, size, chain, nodes) VALUES (1, :size, :chain, :nodes)
ON CONFLICT (one) DO UPDATE SET size = excluded.size, chain = excluded.chain, nodes = excluded.nodes
WHERE excluded.size > ledger_edge.size;

-- name: unsigned_entries
SELECT (SELECT IFNULL(max(seq), 0) FROM ledger) - edge.size,
  (SELECT at FROM ledger WHERE seq = edge.size + 1)
FROM (SELECT IFNULL(max(size), 0) AS size FROM ledger_edge) AS edge;

-- Rows without content that remain of an erased user, in which a mark replaces the id of the user.

-- name: has_memories
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'version';

-- name: memory_owners
SELECT DISTINCT user FROM version
WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids)) AND user IS NOT NULL;

-- name: registered_owners
SELECT DISTINCT user FROM register
WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids)) AND user IS NOT NULL;

-- The first is answered by an index if the user still has a live memory of that agent, the usual case.

-- name: has_live_memories
SELECT count(*) FROM (
  SELECT 1 FROM version
  WHERE tenant = :tenant AND agent = :agent AND user = :user AND ended IS NULL AND user IS NOT NULL LIMIT 1
);

-- name: has_contents
SELECT count(*) FROM (
  SELECT 1 FROM version WHERE tenant = :tenant AND user = :user AND content IS NOT NULL LIMIT 1
);

-- name: has_register
SELECT EXISTS (SELECT 1 FROM register WHERE tenant = :tenant);

-- name: has_pending_rows
SELECT count(*) FROM (
  SELECT 1 FROM proposal WHERE tenant = :tenant AND user = :user AND plan IS NOT NULL
  UNION ALL
  SELECT 1 FROM ingest WHERE tenant = :tenant AND user = :user AND state = 'pending'
  UNION ALL
  SELECT 1 FROM register WHERE tenant = :tenant AND user = :user AND live = 1
  UNION ALL
  SELECT 1 FROM debt WHERE instr(body, :quoted)
) AS kept;

-- name: is_person_in_rows
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

-- name: drop_queries_with_person
UPDATE recalled SET query = NULL, details = NULL WHERE tenant = :tenant AND instr(query, :user);

-- name: ruled_keys_of_person
SELECT tenant, rule, change FROM ruled WHERE tenant = :tenant AND user = :user;

-- name: register_keys_of_person
SELECT tenant, id FROM register WHERE tenant = :tenant AND user = :user;

-- name: rename_ruled
UPDATE ruled SET user = :mark WHERE tenant = :tenant AND user = :user;

-- name: rename_register
UPDATE register SET user = :mark WHERE tenant = :tenant AND user = :user;

-- name: rename_ingests
UPDATE ingest SET user = :mark, error = NULL WHERE tenant = :tenant AND user = :user;

-- name: rename_reads
UPDATE openwop_read SET user = :mark
WHERE user = :user AND run IN (SELECT id FROM openwop_run WHERE tenant = :tenant);

-- name: proposals_of_person
SELECT id, body FROM proposal WHERE tenant = :tenant AND user = :user;

-- name: rename_proposal
UPDATE proposal SET user = :mark, body = :body,
  key = CASE WHEN instr(key, :user) THEN NULL ELSE key END
WHERE tenant = :tenant AND id = :id;

-- name: runs_with_person
SELECT id, body FROM openwop_run WHERE tenant = :tenant AND instr(body, :user);

-- name: rewrite_run
UPDATE openwop_run SET body = :body WHERE id = :id;

-- name: run_events_with_person
SELECT run, sequence, payload FROM openwop_event
WHERE run IN (SELECT id FROM openwop_run WHERE tenant = :tenant) AND instr(payload, :user);

-- name: rewrite_run_event
UPDATE openwop_event SET payload = :payload WHERE run = :run AND sequence = :sequence;

-- name: delete_person
DELETE FROM ledger_person WHERE tenant = :tenant AND user = :user;

-- Rows other than memories whose digests the ledger holds, by kind. All keys, and the row of one key.
-- Columns that change without an entry, such as the last use of a token, are left out.

-- name: keys_proposal
SELECT id FROM proposal;

-- name: row_proposal
SELECT id, tenant, agent, user, state, revision, batch, key, digest, risk, expires_at, body, plan FROM proposal
WHERE id = :first;

-- name: keys_links
SELECT DISTINCT proposal FROM proposal_memory;

-- name: row_links
SELECT tenant, memory FROM proposal_memory WHERE proposal = :first ORDER BY tenant, memory;

-- name: keys_edition
SELECT tenant, number FROM edition;

-- name: row_edition
SELECT number, at, by, rules FROM edition WHERE tenant = :first AND number = :second;

-- name: keys_ruled
SELECT tenant, rule, change FROM ruled;

-- name: row_ruled
SELECT agent, user FROM ruled WHERE tenant = :first AND rule = :second AND change = :third;

-- name: keys_register
SELECT tenant, id FROM register;

-- name: row_register
SELECT agent, user, version, digest, live FROM register WHERE tenant = :first AND id = :second;

-- name: keys_operator
SELECT name FROM operator;

-- name: row_operator
SELECT name, body, revoked_at FROM operator WHERE name = :first;

-- name: keys_token
SELECT id FROM token;

-- name: row_token
SELECT id, operator, hash, made_at, expires_at, revoked_at FROM token WHERE id = :first;

-- name: keys_token_key
SELECT one FROM token_key;

-- name: row_token_key
SELECT key FROM token_key WHERE one = :first;

-- name: keys_webhook
SELECT id FROM webhook;

-- name: row_webhook
SELECT id, url, secret, tenant, CASE review WHEN 0 THEN agents ELSE agents || ' review' END, made_at
FROM webhook WHERE id = :first;

-- name: keys_definition
SELECT tenant, name, edition FROM definition;

-- name: row_definition
SELECT digest, parent, body, made_at, made_by, retired_at FROM definition
WHERE tenant = :first AND name = :second AND edition = :third;

-- name: keys_binding
SELECT tenant, agent FROM binding;

-- name: row_binding
SELECT digest, made_at, made_by FROM binding WHERE tenant = :first AND agent = :second;

-- name: keys_ingest
SELECT id FROM ingest WHERE state = 'pending';

-- name: row_ingest
SELECT id, tenant, agent, user, caller, at, turns FROM ingest WHERE id = :first AND state = 'pending';

-- name: keys_rejected
SELECT DISTINCT tenant FROM rejected_words;

-- name: row_rejected
SELECT digest, proposal FROM rejected_words WHERE tenant = :first ORDER BY digest;

-- name: row_salts
SELECT kind, key, seq, salt FROM ledger_state;

-- name: set_row_salt
INSERT INTO ledger_state (kind, key, seq, salt) VALUES (:kind, :key, :seq, :salt)
ON CONFLICT (kind, key) DO UPDATE SET seq = excluded.seq, salt = excluded.salt;

-- name: delete_row_salt
DELETE FROM ledger_state WHERE kind = :kind AND key = :key;

-- name: token_ids_of_operator
SELECT id FROM token WHERE operator = :operator;

-- name: last_entry_time
SELECT IFNULL(max(at), 0) FROM ledger;

-- name: person_marks
SELECT mark, tenant, user, salt FROM ledger_person;

-- name: salts_since
SELECT seq, tenant, memory, version, salt FROM ledger_salt WHERE seq > :after;

-- name: recalls_since
SELECT id, tenant, agent, user, at, caller, verdict, count, hits FROM recalled
WHERE id IN (SELECT subject FROM ledger WHERE seq > :after AND kind = 'recalled') OR :after = 0;

-- name: has_comparable_memories
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'version';

-- name: words_edition
SELECT value FROM meta WHERE key = 'words';

-- name: all_changes
SELECT tenant, id, agent, user, operation, at, key, fingerprint, reason, undoes, about, puts FROM change;

-- name: all_versions
SELECT record.*, b.id, e.id, b.first, b.puts, version.digest, version.length, version.terms
FROM record
JOIN version ON version.position = record.position
LEFT JOIN change AS b ON b.seq = record.began
LEFT JOIN change AS e ON e.seq = record.ended;

-- name: change_of
SELECT tenant, id, agent, user, operation, at, key, fingerprint, reason, undoes, about, puts FROM change
WHERE tenant = :tenant AND id = :id;

-- name: versions_of
SELECT record.*, b.id, e.id, b.first, b.puts, version.digest, version.length, version.terms
FROM version
JOIN record ON record.position = version.position
LEFT JOIN change AS b ON b.seq = record.began
LEFT JOIN change AS e ON e.seq = record.ended
WHERE version.tenant = :tenant AND version.id = :id;

-- name: last_comparison
SELECT seq, at, full_at, differences FROM state_verified;

-- name: set_last_comparison
INSERT INTO state_verified (one, seq, at, full_at, differences) VALUES (1, :seq, :at, :full_at, :differences)
ON CONFLICT (one) DO UPDATE
SET seq = excluded.seq, at = excluded.at, full_at = excluded.full_at, differences = excluded.differences;
