-- The ledger, its users, and the rows whose digests it holds, in Postgres. The statements of SQLite have the same names, parameters and columns.

-- name: has_ledger
SELECT 1;

-- name: ledger_head
SELECT seq, chain FROM ledger ORDER BY seq DESC LIMIT 1;

-- name: ledger_head_for
SELECT seq, chain, (SELECT mark FROM ledger_person WHERE tenant = %(tenant)s AND "user" = %(user)s)
FROM ledger ORDER BY seq DESC LIMIT 1;

-- name: person_mark
SELECT mark FROM ledger_person WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: add_person
INSERT INTO ledger_person (mark, tenant, "user", salt) VALUES (%(mark)s, %(tenant)s, %(user)s, %(salt)s);

-- name: append_entry
INSERT INTO ledger (seq, body, chain) VALUES (%s, %s, %s);

-- name: add_salt
INSERT INTO ledger_salt (seq, tenant, memory, version, salt) VALUES (%s, %s, %s, %s, %s);

-- name: delete_salts
UPDATE ledger_salt SET salt = NULL
WHERE tenant = %(tenant)s AND memory = %(id)s AND salt IS NOT NULL
  AND (SELECT agent FROM ledger WHERE ledger.seq = ledger_salt.seq) = %(agent)s;

-- name: salts_of_memory
SELECT seq, version, salt FROM ledger_salt WHERE tenant = %(tenant)s AND memory = %(memory)s ORDER BY seq, version;

-- What is of another type than it was written with is no entry any more.

-- name: operations_by_day
SELECT at / 86400000 AS day, operation, count(*)
FROM (SELECT at, operation, tenant FROM ledger ORDER BY seq DESC LIMIT nullif(%(newest)s, -1)) AS part
WHERE tenant = %(tenant)s GROUP BY day, operation ORDER BY day;

-- name: entry
SELECT seq, convert_to(body, 'UTF8'), chain,
  (SELECT person."user" FROM ledger_person AS person WHERE person.mark = extract_of(body, '$.person'))
FROM ledger WHERE seq = %s;

-- name: entries_after
SELECT seq, convert_to(body, 'UTF8'), chain
FROM ledger WHERE seq > %s ORDER BY seq LIMIT %s;

-- name: filter_entries
SELECT seq, convert_to(body, 'UTF8'), chain,
  (SELECT person."user" FROM ledger_person AS person WHERE person.mark = extract_of(body, '$.person'))
FROM ledger
WHERE (%(before)s IS NULL OR seq < %(before)s)
  AND (%(tenant)s IS NULL OR tenant = %(tenant)s)
  AND (%(agent)s IS NULL OR agent = %(agent)s)
  AND (%(user)s IS NULL OR "user" = %(user)s OR extract_of(body, '$.person') IN (
    SELECT mark FROM ledger_person AS person
    WHERE (%(tenant)s IS NULL OR person.tenant = %(tenant)s) AND person."user" = %(user)s
  ))
  AND (%(operation)s IS NULL OR operation = %(operation)s)
  AND (%(kind)s IS NULL OR kind = %(kind)s)
  AND (%(actor)s IS NULL OR actor = %(actor)s)
  AND (%(memory)s IS NULL OR says(body, %(memory)s))
  AND (%(since)s IS NULL OR at >= %(since)s)
  AND (%(until)s IS NULL OR at < %(until)s)
ORDER BY seq DESC LIMIT nullif(%(limit)s, -1);

-- name: entries_about
SELECT seq, convert_to(body, 'UTF8'), chain,
  (SELECT person."user" FROM ledger_person AS person WHERE person.mark = extract_of(body, '$.person'))
FROM ledger WHERE subject = %(subject)s AND tenant = %(tenant)s ORDER BY seq DESC;

-- Each machine signs the ledger with a key of its own, so each knows how far it signed.

-- name: tree_edge
SELECT size, chain, nodes FROM ledger_edge_of WHERE signer = %(signer)s;

-- name: set_tree_edge
INSERT INTO ledger_edge_of (signer, size, chain, nodes) VALUES (%(signer)s, %(size)s, %(chain)s, %(nodes)s)
ON CONFLICT (signer) DO UPDATE SET size = excluded.size, chain = excluded.chain, nodes = excluded.nodes
WHERE excluded.size > ledger_edge_of.size;

-- name: unsigned_entries
SELECT (SELECT coalesce(max(seq), 0) FROM ledger) - edge.size,
  (SELECT at FROM ledger WHERE seq = edge.size + 1)
FROM (SELECT coalesce(max(size), 0) AS size FROM ledger_edge_of WHERE signer = %(signer)s) AS edge;

-- What an erased user leaves behind: rows without content, in which a mark takes the place of the user's id.

-- name: has_memories
SELECT to_regclass('version') IS NOT NULL;

-- The memories call the column of the user otherwise.

-- name: memory_owners
SELECT DISTINCT user_id FROM version WHERE tenant = %(tenant)s
  AND id IN (SELECT json_array_elements_text(%(ids)s::json)) AND user_id IS NOT NULL;

-- name: registered_owners
SELECT DISTINCT "user" FROM register
WHERE tenant = %(tenant)s AND id IN (SELECT json_array_elements_text(%(ids)s::json)) AND "user" IS NOT NULL;

-- The first is answered by an index where the user still has a live memory of that agent, as mostly.

-- name: has_live_memories
SELECT count(*) FROM (
  SELECT 1 FROM version
  WHERE tenant = %(tenant)s AND agent = %(agent)s AND user_id = %(user)s AND ended IS NULL
    AND user_id IS NOT NULL LIMIT 1
) AS part;

-- name: has_contents
SELECT count(*) FROM (
  SELECT 1 FROM version WHERE tenant = %(tenant)s AND user_id = %(user)s AND content IS NOT NULL LIMIT 1
) AS part;

-- name: has_register
SELECT EXISTS (SELECT 1 FROM register WHERE tenant = %(tenant)s);

-- name: has_pending_rows
SELECT count(*) FROM (
  SELECT 1 FROM proposal WHERE tenant = %(tenant)s AND "user" = %(user)s AND plan IS NOT NULL
  UNION ALL
  SELECT 1 FROM ingest WHERE tenant = %(tenant)s AND "user" = %(user)s AND state = 'pending'
  UNION ALL
  SELECT 1 FROM register WHERE tenant = %(tenant)s AND "user" = %(user)s AND live = 1
  UNION ALL
  SELECT 1 FROM debt WHERE says(body, %(quoted)s)
) AS kept;

-- name: is_person_in_rows
SELECT count(*) FROM (
  SELECT 1 FROM ledger_person WHERE tenant = %(tenant)s AND "user" = %(user)s
  UNION ALL
  SELECT 1 FROM recalled WHERE tenant = %(tenant)s AND "user" = %(user)s
  UNION ALL
  SELECT 1 FROM proposal WHERE tenant = %(tenant)s AND "user" = %(user)s
  UNION ALL
  SELECT 1 FROM register WHERE tenant = %(tenant)s AND "user" = %(user)s
) AS rows_named;

-- name: rename_versions
UPDATE version SET user_id = %(mark)s WHERE tenant = %(tenant)s AND user_id = %(user)s;

-- name: rename_changes
UPDATE change SET user_id = %(mark)s,
  key = CASE WHEN says(key, %(user)s) THEN NULL ELSE key END,
  reason = CASE WHEN says(reason, %(user)s) THEN NULL ELSE reason END
WHERE tenant = %(tenant)s AND user_id = %(user)s;

-- name: rename_recalls
UPDATE recalled SET "user" = %(mark)s, query = NULL, details = NULL WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: drop_queries_with_person
UPDATE recalled SET query = NULL, details = NULL WHERE tenant = %(tenant)s AND says(query, %(user)s);

-- name: ruled_keys_of_person
SELECT tenant, rule, change FROM ruled WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: register_keys_of_person
SELECT tenant, id FROM register WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: rename_ruled
UPDATE ruled SET "user" = %(mark)s WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: rename_register
UPDATE register SET "user" = %(mark)s WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: rename_ingests
UPDATE ingest SET "user" = %(mark)s, error = NULL WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: rename_reads
UPDATE openwop_read SET "user" = %(mark)s
WHERE "user" = %(user)s AND run IN (SELECT id FROM openwop_run WHERE tenant = %(tenant)s);

-- name: proposals_of_person
SELECT id, body FROM proposal WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- name: rename_proposal
UPDATE proposal SET "user" = %(mark)s, body = %(body)s,
  key = CASE WHEN says(key, %(user)s) THEN NULL ELSE key END
WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: runs_with_person
SELECT id, body FROM openwop_run WHERE tenant = %(tenant)s AND says(body, %(user)s);

-- name: rewrite_run
UPDATE openwop_run SET body = %(body)s WHERE id = %(id)s;

-- name: run_events_with_person
SELECT run, sequence, payload FROM openwop_event
WHERE run IN (SELECT id FROM openwop_run WHERE tenant = %(tenant)s) AND says(payload, %(user)s);

-- name: rewrite_run_event
UPDATE openwop_event SET payload = %(payload)s WHERE run = %(run)s AND sequence = %(sequence)s;

-- name: delete_person
DELETE FROM ledger_person WHERE tenant = %(tenant)s AND "user" = %(user)s;

-- Rows outside of the memories whose digests the ledger holds: all keys of a kind, and the row of one key.
-- What changes without an entry, as when a token was last used, is not among the columns.

-- name: keys_proposal
SELECT id FROM proposal;

-- name: row_proposal
SELECT id, tenant, agent, "user", state, revision, batch, key, digest, risk, expires_at, body, plan FROM proposal
WHERE id = %(first)s;

-- name: keys_links
SELECT DISTINCT proposal FROM proposal_memory;

-- name: row_links
SELECT tenant, memory FROM proposal_memory WHERE proposal = %(first)s ORDER BY tenant, memory;

-- name: keys_edition
SELECT tenant, number FROM edition;

-- name: row_edition
SELECT number, at, by, rules FROM edition WHERE tenant = %(first)s AND number = %(second)s;

-- name: keys_ruled
SELECT tenant, rule, change FROM ruled;

-- name: row_ruled
SELECT agent, "user" FROM ruled WHERE tenant = %(first)s AND rule = %(second)s AND change = %(third)s;

-- name: keys_register
SELECT tenant, id FROM register;

-- name: row_register
SELECT agent, "user", version, digest, live FROM register WHERE tenant = %(first)s AND id = %(second)s;

-- name: keys_operator
SELECT name FROM operator;

-- name: row_operator
SELECT name, body, revoked_at FROM operator WHERE name = %(first)s;

-- name: keys_token
SELECT id FROM token;

-- name: row_token
SELECT id, operator, hash, made_at, expires_at, revoked_at FROM token WHERE id = %(first)s;

-- name: keys_token_key
SELECT one FROM token_key;

-- name: row_token_key
SELECT key FROM token_key WHERE one = %(first)s;

-- name: keys_webhook
SELECT id FROM webhook;

-- name: row_webhook
SELECT id, url, secret, tenant, CASE review WHEN 0 THEN agents ELSE agents || ' review' END, made_at
FROM webhook WHERE id = %(first)s;

-- name: keys_definition
SELECT tenant, name, edition FROM definition;

-- name: row_definition
SELECT digest, parent, body, made_at, made_by, retired_at FROM definition
WHERE tenant = %(first)s AND name = %(second)s AND edition = %(third)s;

-- name: keys_binding
SELECT tenant, agent FROM binding;

-- name: row_binding
SELECT digest, made_at, made_by FROM binding WHERE tenant = %(first)s AND agent = %(second)s;

-- name: keys_ingest
SELECT id FROM ingest WHERE state = 'pending';

-- name: row_ingest
SELECT id, tenant, agent, "user", caller, at, turns FROM ingest WHERE id = %(first)s AND state = 'pending';

-- name: keys_rejected
SELECT DISTINCT tenant FROM rejected_words;

-- name: row_rejected
SELECT digest, proposal FROM rejected_words WHERE tenant = %(first)s ORDER BY digest;

-- name: row_salts
SELECT kind, key, seq, salt FROM ledger_state;

-- name: set_row_salt
INSERT INTO ledger_state (kind, key, seq, salt) VALUES (%(kind)s, %(key)s, %(seq)s, %(salt)s)
ON CONFLICT (kind, key) DO UPDATE SET seq = excluded.seq, salt = excluded.salt;

-- name: delete_row_salt
DELETE FROM ledger_state WHERE kind = %(kind)s AND key = %(key)s;

-- name: token_ids_of_operator
SELECT id FROM token WHERE operator = %(operator)s;

-- name: last_entry_time
SELECT coalesce(max(at), 0) FROM ledger;

-- name: person_marks
SELECT mark, tenant, "user", salt FROM ledger_person;

-- name: salts_since
SELECT seq, tenant, memory, version, salt FROM ledger_salt WHERE seq > %(after)s;

-- name: recalls_since
SELECT id, tenant, agent, "user", at, caller, verdict, count, hits FROM recalled
WHERE id IN (SELECT subject FROM ledger WHERE seq > %(after)s AND kind = 'recalled') OR %(after)s = 0;

-- name: has_comparable_memories
SELECT to_regclass('version') IS NOT NULL;

-- name: words_edition
SELECT value FROM meta WHERE key = 'words';

-- name: all_changes
SELECT tenant, id, agent, user_id, operation, at, key, fingerprint, reason, undoes, about, coalesce(begun.puts, 0)
FROM change LEFT JOIN (
  SELECT tenant, agent, began AS seq, count(*) AS puts FROM version GROUP BY tenant, agent, began
) AS begun USING (tenant, agent, seq);

-- name: change_of
SELECT tenant, id, agent, user_id, operation, at, key, fingerprint, reason, undoes, about, (
  SELECT count(*) FROM version
  WHERE version.tenant = change.tenant AND version.agent = change.agent AND began = change.seq AND began > 0
) FROM change
WHERE tenant = %(tenant)s AND id = %(id)s;

-- The columns of a record as the store reads one, how the version began and ended, and what was derived from it.

-- name: all_versions
SELECT version.position, version.tenant, version.agent, version.user_id, version.id, version.number,
  version.type, version.standing, version.confidence, version.created_at, version.occurred_at,
  version.expires_at, version.session, version.structured, version.content, version.body, NULL::bigint,
  version.ended, version.reason, version.into_id, b.id, e.id, version.digest, version.length, version.terms,
  version.counts, version.facts, version.machine_said, posting.keys, posting.counts
FROM version
LEFT JOIN change AS b ON b.tenant = version.tenant AND b.agent = version.agent AND b.seq = version.began
LEFT JOIN change AS e ON e.tenant = version.tenant AND e.agent = version.agent AND e.seq = version.ended
LEFT JOIN (
  SELECT tenant, position, array_agg(key) AS keys, array_agg(count) AS counts FROM posting GROUP BY tenant, position
) AS posting ON posting.tenant = version.tenant AND posting.position = version.position;

-- An entry for a word that the version has not is not looked for: that takes a scan.

-- name: versions_of
SELECT version.position, version.tenant, version.agent, version.user_id, version.id, version.number,
  version.type, version.standing, version.confidence, version.created_at, version.occurred_at,
  version.expires_at, version.session, version.structured, version.content, version.body, NULL::bigint,
  version.ended, version.reason, version.into_id, b.id, e.id, version.digest, version.length, version.terms,
  version.counts, version.facts, version.machine_said, posting.keys, posting.counts
FROM version
LEFT JOIN change AS b ON b.tenant = version.tenant AND b.agent = version.agent AND b.seq = version.began
LEFT JOIN change AS e ON e.tenant = version.tenant AND e.agent = version.agent AND e.seq = version.ended
LEFT JOIN LATERAL (
  SELECT array_agg(key) AS keys, array_agg(count) AS counts FROM posting
  WHERE posting.tenant = version.tenant AND key = ANY(version.terms) AND posting.position = version.position
) AS posting ON true
WHERE version.tenant = %(tenant)s AND version.id = %(id)s;

-- name: last_comparison
SELECT seq, at, full_at, differences FROM state_verified;

-- name: set_last_comparison
INSERT INTO state_verified (one, seq, at, full_at, differences) VALUES (1, %(seq)s, %(at)s, %(full_at)s, %(differences)s)
ON CONFLICT (one) DO UPDATE
SET seq = excluded.seq, at = excluded.at, full_at = excluded.full_at, differences = excluded.differences;
