-- Rows outside of the memories whose digests the ledger holds: all keys of a kind, and the row of one key.
-- What changes without an entry, as when a token was last used, is not among the columns.

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
SELECT id, url, secret, tenant, agents, made_at FROM webhook WHERE id = :first;

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

-- name: salt_of_row
SELECT salt FROM ledger_state WHERE kind = :kind AND key = :key;

-- name: salts_of_rows
SELECT kind, key, seq, salt FROM ledger_state;

-- name: keep_salt_of_row
INSERT INTO ledger_state (kind, key, seq, salt) VALUES (:kind, :key, :seq, :salt)
ON CONFLICT (kind, key) DO UPDATE SET seq = excluded.seq, salt = excluded.salt;

-- name: drop_salt_of_row
DELETE FROM ledger_state WHERE kind = :kind AND key = :key;

-- name: tokens_of
SELECT id FROM token WHERE operator = :operator;

-- name: last_moment
SELECT IFNULL(max(at), 0) FROM ledger;

-- name: people
SELECT mark, tenant, user, salt FROM ledger_person;

-- name: salts_since
SELECT seq, tenant, memory, version, salt FROM ledger_salt WHERE seq > :after;

-- name: recalls_since
SELECT id, tenant, agent, user, at, caller, verdict, count, hits FROM recalled
WHERE id IN (SELECT subject FROM ledger WHERE seq > :after AND kind = 'recalled') OR :after = 0;

-- name: compares_memories
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'version';

-- name: all_changes
SELECT tenant, id, seq, agent, user, operation, at, key, fingerprint, reason, undoes, about, first, puts FROM change;

-- name: all_versions
SELECT record.*, b.id, e.id, b.first, b.puts, version.digest, version.length, version.terms
FROM record
JOIN version ON version.position = record.position
LEFT JOIN change AS b ON b.seq = record.began
LEFT JOIN change AS e ON e.seq = record.ended;

-- name: change_of
SELECT tenant, id, seq, agent, user, operation, at, key, fingerprint, reason, undoes, about, first, puts FROM change
WHERE tenant = :tenant AND id = :id;

-- name: versions_of
SELECT record.*, b.id, e.id, b.first, b.puts, version.digest, version.length, version.terms
FROM version
JOIN record ON record.position = version.position
LEFT JOIN change AS b ON b.seq = record.began
LEFT JOIN change AS e ON e.seq = record.ended
WHERE version.tenant = :tenant AND version.id = :id;

-- name: verified
SELECT seq, at, full_at, differences FROM state_verified;

-- name: keep_verified
INSERT INTO state_verified (one, seq, at, full_at, differences) VALUES (1, :seq, :at, :full_at, :differences)
ON CONFLICT (one) DO UPDATE
SET seq = excluded.seq, at = excluded.at, full_at = excluded.full_at, differences = excluded.differences;
