-- name: all_meta
SELECT key, value FROM meta;

-- name: keep_meta
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING;

-- name: head
SELECT IFNULL(max(seq), 0) FROM change;

-- name: change_by_id
SELECT seq FROM change WHERE tenant = :tenant AND id = :id;

-- name: change_by_key
SELECT seq FROM change WHERE tenant = :tenant AND agent = :agent AND key = :key;

-- Parameters by position, in the order of a row of `rows.py`, because binding by name takes longer than the write.
-- name: begin_change
INSERT INTO change (
  id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about, puts, checksum, first
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT IFNULL(max(position), 0) + 1 FROM version))
ON CONFLICT DO NOTHING
RETURNING seq;

-- name: newest
SELECT agent, user, number, ended IS NULL AS live, content IS NULL AS erased
FROM version
WHERE tenant = :tenant AND id = :id
ORDER BY number DESC LIMIT 1;

-- name: end_live
UPDATE version SET ended = :seq, reason = :reason, into_id = :into,
  checksum = (checksum | :end) - (checksum & :end)
WHERE tenant = :tenant AND agent = :agent AND id = :id AND ended IS NULL;

-- Ends the live version before a put replaces it, if it is the expected version.
-- name: replace_live
UPDATE version SET ended = :seq, reason = 'replaced', into_id = NULL,
  checksum = (checksum | :end) - (checksum & :end)
WHERE tenant = :tenant AND agent = :agent AND id = :id AND ended IS NULL AND user IS :user AND number = :before;

-- name: same_content
SELECT min(id) FROM version INDEXED BY version_digest
WHERE tenant = :tenant AND agent = :agent AND digest = :digest AND ended IS NULL
  AND user IS :user AND id <> :id AND (expires_at IS NULL OR expires_at > :at);

-- name: vector_of
SELECT vector FROM version WHERE tenant = :tenant AND id = :id AND number = :number;

-- name: begin_version
INSERT INTO version (
  tenant, agent, user, id, number, type, standing, confidence, created_at, updated_at, occurred_at, expires_at,
  trust, source, session, digest, length, structured, tags, metadata, supersedes, merged_from, derived_from,
  content, vector, terms, checksum, vector_checksum, began
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- The first version of an id, unless the id exists or (for a unique put) the content exists.
-- name: begin_chain
INSERT INTO version (
  tenant, agent, user, id, number, type, standing, confidence, created_at, updated_at, occurred_at, expires_at,
  trust, source, session, digest, length, structured, tags, metadata, supersedes, merged_from, derived_from,
  content, vector, terms, checksum, vector_checksum, began
)
SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
WHERE NOT ? OR NOT EXISTS (
  SELECT 1 FROM version INDEXED BY version_digest
  WHERE tenant = ? AND agent = ? AND digest = ? AND ended IS NULL
    AND user IS ? AND (expires_at IS NULL OR expires_at > ?)
)
ON CONFLICT DO NOTHING;

-- The last sequence of a change and the last position of a version, for a group of changes.
-- name: heads
SELECT IFNULL((SELECT max(seq) FROM change), 0), IFNULL((SELECT max(position) FROM version), 0);

-- name: begin_changes
INSERT INTO change (
  seq, first, id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about, puts, checksum
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: replace_each
UPDATE version SET ended = ?1, reason = 'replaced', into_id = NULL,
  checksum = (checksum | ?2) - (checksum & ?2)
WHERE tenant = ?3 AND agent = ?4 AND id = ?5 AND ended IS NULL AND user IS ?6 AND number = ?7;

-- name: begin_versions
INSERT INTO version (
  position, began, tenant, agent, user, id, number, type, standing, confidence, created_at, updated_at,
  occurred_at, expires_at, trust, source, session, digest, length, structured, tags, metadata, supersedes,
  merged_from, derived_from, content, vector, terms, checksum, vector_checksum
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- Whether another live, unexpired version of exactly this scope has the same content.
-- name: same_contents
SELECT 1 FROM json_each(:said) AS asked
CROSS JOIN version INDEXED BY version_digest
  ON tenant = asked.value ->> 0 AND agent = asked.value ->> 1 AND digest = unhex(asked.value ->> 3)
  AND user IS asked.value ->> 2 AND ended IS NULL
  AND (expires_at IS NULL OR expires_at > asked.value ->> 4)
LIMIT 1;

-- name: erase_versions
UPDATE version SET
  ended = IFNULL(ended, :seq), reason = 'erased', into_id = NULL, type = NULL, standing = NULL,
  confidence = NULL, created_at = NULL, updated_at = NULL, occurred_at = NULL, expires_at = NULL,
  trust = NULL, source = NULL, session = NULL, digest = NULL, length = NULL, structured = NULL, tags = NULL,
  metadata = NULL, supersedes = NULL, merged_from = NULL, derived_from = NULL, content = NULL, vector = NULL,
  terms = NULL, checksum = NULL, vector_checksum = NULL
WHERE tenant = :tenant AND id = :id;

-- name: keep_tokens
INSERT INTO version_tokens (position, tokens, checksum) VALUES (?, ?, ?);

-- name: keep_new_tokens
INSERT OR IGNORE INTO version_tokens (position, tokens, checksum) VALUES (?, ?, ?);

-- name: copy_tokens
INSERT INTO version_tokens (position, tokens, checksum)
SELECT :position, tokens, version_tokens.checksum FROM version CROSS JOIN version_tokens ON version_tokens.position = version.position
WHERE tenant = :tenant AND id = :id AND number = :number;

-- name: erase_tokens
DELETE FROM version_tokens
WHERE position IN (SELECT position FROM version WHERE tenant = :tenant AND id = :id);

-- name: erase_recall
DELETE FROM recall WHERE tenant = :tenant AND id = :id;

-- name: remove_user_from_versions
UPDATE version SET user = :mark WHERE tenant = :tenant AND user = :user;

-- name: remove_user_from_changes
UPDATE change SET user = :mark,
  key = CASE WHEN instr(key, :user) THEN NULL ELSE key END,
  reason = CASE WHEN instr(reason, :user) THEN NULL ELSE reason END
WHERE tenant = :tenant AND user = :user;

-- name: erase_fingerprints
UPDATE change SET fingerprint = NULL, reason = NULL
WHERE seq IN (
  SELECT began FROM version WHERE tenant = :tenant AND id = :id
  UNION ALL
  SELECT seq FROM change WHERE tenant = :tenant AND about = :id
);

-- name: erase_reasons
UPDATE change SET reason = NULL
WHERE seq <> :seq AND seq IN (SELECT ended FROM version WHERE tenant = :tenant AND id = :id);

-- name: erase_reembedded
DELETE FROM reembed
WHERE position IN (SELECT position FROM version WHERE tenant = :tenant AND id = :id);

-- name: has_meta
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta';

-- name: add_meta
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- name: tables_seen
SELECT value FROM meta WHERE key = :key;

-- name: tables_kept
INSERT INTO meta (key, value) VALUES (:key, :number)
ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value;

-- name: owe_scrub
INSERT INTO meta (key, value) VALUES ('scrub_owed', '1')
ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1;

-- name: scrub_owed
SELECT CAST(owed.value AS INTEGER)
FROM meta AS owed LEFT JOIN meta AS paid ON paid.key = 'scrub_paid'
WHERE owed.key = 'scrub_owed' AND CAST(owed.value AS INTEGER) > CAST(IFNULL(paid.value, '0') AS INTEGER);

-- name: scrub_paid
INSERT INTO meta (key, value) VALUES ('scrub_paid', :owed)
ON CONFLICT (key) DO UPDATE SET value = max(CAST(value AS INTEGER), :owed);

-- name: touch
INSERT INTO recall (tenant, id, at, count, checksum)
SELECT tenant, id, :at, :count, :at * 31 + :count FROM version
WHERE tenant = :tenant AND agent = :agent AND id = :id AND ended IS NULL
  AND (:user IS NULL OR user = :user)
ON CONFLICT (tenant, id) DO UPDATE SET at = max(at, excluded.at), count = count + excluded.count,
  checksum = max(at, excluded.at) * 31 + count + excluded.count;

-- name: recalls
SELECT IFNULL((SELECT count FROM recall WHERE tenant = asked.value ->> 0 AND id = asked.value ->> 1), 0)
FROM json_each(:asked) AS asked
ORDER BY asked.key;

-- name: get
SELECT record.*
FROM json_each(:ids) AS asked
CROSS JOIN record ON record.id = asked.value
WHERE tenant = :tenant AND agent = :agent AND ended IS NULL AND (:user IS NULL OR user = :user)
ORDER BY asked.key;

-- name: glance
SELECT version.id, number, created_at, expires_at, metadata -> :name
FROM json_each(:ids) AS asked
CROSS JOIN version ON version.id = asked.value
WHERE tenant = :tenant AND agent = :agent AND ended IS NULL AND (:user IS NULL OR user = :user)
ORDER BY asked.key;

-- name: find
SELECT * FROM record WHERE {conditions} ORDER BY id LIMIT :limit;

-- name: find_backwards
SELECT * FROM record WHERE {conditions} ORDER BY id DESC LIMIT :limit;

-- name: owners
SELECT agent, count(*) FROM version WHERE tenant = :tenant AND ended IS NULL GROUP BY agent ORDER BY agent;

-- name: scan
SELECT * FROM record WHERE {conditions};

-- name: count
SELECT count(*) FROM record WHERE {conditions};

-- name: tally
WITH met AS MATERIALIZED (SELECT type, user, source, trust, standing, tags FROM record WHERE {conditions})
SELECT 'type', type, count(*) FROM met GROUP BY type
UNION ALL SELECT 'user_id', user, count(*) FROM met WHERE user IS NOT NULL GROUP BY user
UNION ALL SELECT 'source', source, count(*) FROM met WHERE source <> '' GROUP BY source
UNION ALL SELECT 'trust', trust, count(*) FROM met GROUP BY trust
UNION ALL SELECT 'standing', standing, count(*) FROM met GROUP BY standing
UNION ALL SELECT 'tags', value, count(*) FROM met, json_each(tags) GROUP BY value
UNION ALL SELECT '', '', count(*) FROM met;

-- name: positions
SELECT position FROM record WHERE {conditions};

-- name: by_position
SELECT record.* FROM json_each(:positions) AS wanted CROSS JOIN record ON record.position = wanted.value;

-- name: index_size
SELECT count(*) FROM version WHERE tenant = :tenant AND agent = :agent AND ended IS NULL;

-- name: index_live
SELECT position, id, user, type, standing, created_at, expires_at, length, occurred_at,
  IFNULL(occurred_at, created_at), CASE
    WHEN session IS NULL THEN NULL
    WHEN json_type(metadata, '$.layer.kind') = 'text' THEN iif(metadata ->> '$.layer.kind' = 'turn', session, NULL)
    WHEN json_type(metadata, '$.speaker') = 'text' OR json_type(metadata, '$.role') = 'text' THEN session
  END, iif(metadata ->> '$.fact.kind' IS NULL, NULL, json_extract(metadata, '$.fact.subject', '$.fact.slot', '$.fact.given')),
  IFNULL(metadata ->> '$.role' = 'assistant', 0), vector, terms
FROM version
WHERE tenant = :tenant AND agent = :agent AND ended IS NULL
ORDER BY id;

-- The number of current versions of some users, counted up to `most`, and the position of the last one.
-- `own` adds the memories without a user.
-- name: extent_of_users
SELECT count(*), IFNULL(max(position), 0) FROM (
  SELECT position FROM version
  WHERE tenant = :tenant AND agent = :agent AND user IN (SELECT value FROM json_each(:users)) AND ended IS NULL
    AND user IS NOT NULL
  UNION ALL
  SELECT position FROM version
  WHERE :own AND tenant = :tenant AND agent = :agent AND user IS NULL AND ended IS NULL
  LIMIT :most
);

-- name: positions_of_users
SELECT position FROM version
WHERE tenant = :tenant AND agent = :agent AND user IN (SELECT value FROM json_each(:users)) AND ended IS NULL
  AND user IS NOT NULL
UNION ALL
SELECT position FROM version
WHERE :own AND tenant = :tenant AND agent = :agent AND user IS NULL AND ended IS NULL;

-- name: index_began
SELECT position, version.id, version.user, type, standing, created_at, expires_at, length, occurred_at,
  IFNULL(occurred_at, created_at), CASE
    WHEN session IS NULL THEN NULL
    WHEN json_type(metadata, '$.layer.kind') = 'text' THEN iif(metadata ->> '$.layer.kind' = 'turn', session, NULL)
    WHEN json_type(metadata, '$.speaker') = 'text' OR json_type(metadata, '$.role') = 'text' THEN session
  END, iif(metadata ->> '$.fact.kind' IS NULL, NULL, json_extract(metadata, '$.fact.subject', '$.fact.slot', '$.fact.given')),
  IFNULL(metadata ->> '$.role' = 'assistant', 0), vector, terms
FROM change INDEXED BY change_agent
CROSS JOIN version ON position >= first AND position < first + puts
WHERE change.tenant = :tenant AND change.agent = :agent AND seq > :seen AND seq <= :upto AND ended IS NULL;

-- name: index_ended
SELECT position FROM version
WHERE tenant = :tenant AND agent = :agent AND ended > :seen AND began <= :seen;

-- name: index_ended_since
SELECT position FROM version WHERE tenant = :tenant AND agent = :agent AND ended > :seen;

-- name: packs
SELECT since, upto, seen, data FROM pack
WHERE tenant = :tenant AND agent = :agent AND format = :format
ORDER BY since;

-- name: all_packs
SELECT tenant, agent, since, upto, seen, data FROM pack WHERE format = :format ORDER BY position;

-- name: pack_stretches
SELECT since, upto FROM pack
WHERE tenant = :tenant AND agent = :agent AND format = :format
ORDER BY since;

-- name: puts_between
SELECT seq, puts FROM change INDEXED BY change_agent
WHERE tenant = :tenant AND agent = :agent AND seq > :seen AND seq <= :upto
ORDER BY seq;

-- name: puts_behind
SELECT IFNULL(sum(puts), 0) FROM change INDEXED BY change_agent
WHERE tenant = :tenant AND agent = :agent AND seq > :upto;

-- name: erased_since
SELECT EXISTS (
  SELECT 1 FROM version WHERE tenant = :tenant AND agent = :agent AND ended > :seen AND reason = 'erased'
);

-- name: keep_pack
INSERT INTO pack (tenant, agent, since, upto, seen, format, data)
VALUES (:tenant, :agent, :since, :upto, :seen, :format, :data)
ON CONFLICT (tenant, agent, since) DO UPDATE
SET upto = excluded.upto, seen = excluded.seen, format = excluded.format, data = excluded.data
WHERE format <> excluded.format;

-- name: erase_packs
DELETE FROM pack
WHERE tenant = :tenant AND agent = :agent AND EXISTS (
  SELECT 1 FROM version
  WHERE version.tenant = :tenant AND version.id = :id AND began > since AND began <= upto
);

-- name: drop_packs
DELETE FROM pack;

-- name: index_at
SELECT position, id, user, type, standing, created_at, expires_at, length, occurred_at,
  IFNULL(occurred_at, created_at), CASE
    WHEN session IS NULL THEN NULL
    WHEN json_type(metadata, '$.layer.kind') = 'text' THEN iif(metadata ->> '$.layer.kind' = 'turn', session, NULL)
    WHEN json_type(metadata, '$.speaker') = 'text' OR json_type(metadata, '$.role') = 'text' THEN session
  END, iif(metadata ->> '$.fact.kind' IS NULL, NULL, json_extract(metadata, '$.fact.subject', '$.fact.slot', '$.fact.given')),
  IFNULL(metadata ->> '$.role' = 'assistant', 0), vector, terms
FROM version
WHERE position IN (SELECT value FROM json_each(:positions))
ORDER BY position;

-- name: ids_at
SELECT version.id FROM json_each(:positions) AS wanted CROSS JOIN version ON version.position = wanted.value
ORDER BY wanted.key;

-- name: tokens_at
SELECT position, tokens FROM json_each(:positions) AS wanted CROSS JOIN version_tokens ON version_tokens.position = wanted.value;

-- name: vectors_at
SELECT position, version.id, vector
FROM json_each(:positions) AS wanted CROSS JOIN version ON version.position = wanted.value;

-- All columns of each version that a checksum or a rule covers, for `doctor`. The columns of RECORD
-- come first.
-- name: examined_versions
SELECT tenant, agent, user, id, number, type, standing, confidence, created_at, updated_at, occurred_at,
  expires_at, trust, source, session, structured, tags, metadata, supersedes, merged_from, derived_from, content,
  position, ended, reason, into_id, checksum, vector_checksum, length, vector, terms
FROM version WHERE position > :after ORDER BY position LIMIT :limit;

-- name: examined_changes
SELECT id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about, puts, seq, checksum
FROM change WHERE checksum IS NOT NULL ORDER BY seq;

-- Changes whose versions are not at the positions stored in the change.
-- name: misplaced_versions
SELECT seq FROM change
WHERE puts <> (SELECT count(*) FROM version WHERE position >= first AND position < first + puts AND began = seq)
UNION ALL
SELECT began FROM version
WHERE NOT EXISTS (SELECT 1 FROM change WHERE seq = began AND position >= first AND position < first + puts)
LIMIT 1;

-- name: damaged_recall
SELECT id FROM recall WHERE checksum IS NOT at * 31 + count AND checksum IS NOT NULL
UNION ALL
SELECT id FROM recall WHERE NOT EXISTS (
  SELECT 1 FROM version WHERE version.tenant = recall.tenant AND version.id = recall.id
)
LIMIT 1;

-- name: unchecked_rows
SELECT count(*) FROM version WHERE checksum IS NULL;

-- name: schema
SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL;

-- name: erased_versions
SELECT tenant, agent, user, id, number, type, standing, confidence, created_at, updated_at, occurred_at,
  expires_at, trust, source, session, structured, tags, metadata, supersedes, merged_from, derived_from, content,
  position, ended, reason, into_id
FROM version WHERE tenant = :tenant AND id = :id;

-- name: keep_checksum
UPDATE version SET checksum = ? WHERE position = ?;

-- name: changes_about
SELECT id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about, puts, seq
FROM change
WHERE checksum IS NOT NULL AND seq IN (
  SELECT began FROM version WHERE tenant = :tenant AND id = :id
  UNION ALL
  SELECT ended FROM version WHERE tenant = :tenant AND id = :id
  UNION ALL
  SELECT seq FROM change WHERE tenant = :tenant AND about = :id
);

-- name: keep_change_checksum
UPDATE change SET checksum = ? WHERE seq = ?;

-- name: history
SELECT record.*, b.at, b.id, e.at, e.id
FROM record
JOIN change AS b ON b.seq = record.began
LEFT JOIN change AS e ON e.seq = record.ended
WHERE record.tenant = :tenant AND record.id = :id AND record.agent = :agent
  AND (:user IS NULL OR record.user = :user)
ORDER BY record.number;

-- name: began_by
SELECT record.*, b.at, b.id, e.at, e.id
FROM change AS b
CROSS JOIN record ON record.position >= b.first AND record.position < b.first + b.puts
LEFT JOIN change AS e ON e.seq = record.ended
WHERE b.seq = :seq AND b.tenant = :tenant AND b.agent = :agent
ORDER BY +record.id, record.number;

-- name: ended_by
SELECT record.*, b.at, b.id, e.at, e.id
FROM record
JOIN change AS b ON b.seq = record.began
LEFT JOIN change AS e ON e.seq = record.ended
WHERE record.tenant = :tenant AND record.agent = :agent AND record.ended = :seq
ORDER BY +record.id, record.number;

-- name: committed_by_id
SELECT seq, id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about
FROM change WHERE tenant = :tenant AND id = :id;

-- name: committed_by_key
SELECT seq, id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about
FROM change WHERE tenant = :tenant AND agent = :agent AND key = :key;

-- name: newest_changes
SELECT seq, id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about
FROM change
WHERE tenant = :tenant AND agent = :agent AND (:user IS NULL OR user = :user)
ORDER BY seq DESC LIMIT :limit;

-- name: agents
SELECT DISTINCT agent FROM change INDEXED BY change_agent WHERE tenant = :tenant;

-- name: log
SELECT seq, id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about
FROM change INDEXED BY change_agent
WHERE tenant = :tenant AND agent = :agent AND (:user IS NULL OR user = :user) AND seq > :after
ORDER BY seq LIMIT :limit;

-- name: origins
SELECT version.id, change.id
FROM json_each(:ids) AS asked
CROSS JOIN version ON version.tenant = :tenant AND version.id = asked.value AND number = 1
CROSS JOIN change ON change.seq = began;

-- name: known_changes
SELECT change.id, agent FROM json_each(:ids) AS asked
CROSS JOIN change ON tenant = :tenant AND change.id = asked.value;

-- name: sizes
SELECT
  (SELECT count(*) FROM version WHERE ended IS NULL),
  (SELECT count(*) FROM version),
  (SELECT count(*) FROM reembed);

-- name: reembed_total
SELECT count(*), count(reembed.position) FROM version
LEFT JOIN reembed ON reembed.space = :space AND reembed.position = version.position
WHERE version.content IS NOT NULL;

-- name: reembed_next
SELECT record.* FROM record
WHERE record.position > :after AND record.content IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM reembed WHERE space = :space AND reembed.position = record.position)
ORDER BY record.position LIMIT :limit;

-- name: reembed_keep
INSERT OR REPLACE INTO reembed (space, position, vector, checksum, tokens) VALUES (?, ?, ?, ?, ?);

-- name: reembed_swap
UPDATE version SET vector = reembed.vector, vector_checksum = reembed.checksum FROM reembed
WHERE reembed.space = :space AND reembed.position = version.position AND version.content IS NOT NULL;

-- name: reembed_tokens
SELECT position, tokens FROM reembed WHERE space = :space AND tokens IS NOT NULL;

-- name: drop_tokens
DELETE FROM version_tokens;

-- Versions that have a vector and no tokens, because an earlier release wrote them.
-- name: without_tokens
SELECT record.* FROM record CROSS JOIN version ON version.position = record.position
WHERE record.position > :after AND record.content IS NOT NULL AND version.vector IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM version_tokens AS kept WHERE kept.position = record.position)
ORDER BY record.position LIMIT :limit;

-- name: count_without_tokens
SELECT count(*) FROM version
WHERE content IS NOT NULL AND vector IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM version_tokens AS kept WHERE kept.position = version.position);

-- name: examined_tokens
SELECT id, number, tokens, version_tokens.checksum FROM version_tokens JOIN version USING (position);

-- name: reembed_meta
INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?);

-- name: reembedded_to
SELECT value FROM meta WHERE key = 'reembedded';

-- name: reembed_done
DELETE FROM reembed;

-- name: reword_total
SELECT count(*) FROM version WHERE content IS NOT NULL;

-- name: reword_next
SELECT record.* FROM record
WHERE record.position > :after AND record.content IS NOT NULL
ORDER BY record.position LIMIT :limit;

-- name: reword_keep
UPDATE version SET length = ?1, terms = ?2
WHERE position = ?3 AND content IS NOT NULL AND (length IS NOT ?1 OR terms IS NOT ?2);

-- name: words_of
SELECT value FROM meta WHERE key = 'words';
