-- name: lock_agent
INSERT INTO agent (tenant, agent) VALUES (%(tenant)s, %(agent)s)
ON CONFLICT (tenant, agent) DO UPDATE SET live = agent.live;

-- name: next_sequence
SELECT nextval('sequence');

-- name: known_changes
SELECT seq, id FROM change WHERE tenant = %(tenant)s AND id = %(id)s
UNION ALL
SELECT seq, id FROM change WHERE tenant = %(tenant)s AND agent = %(agent)s AND key = %(key)s;

-- name: heads
SELECT DISTINCT ON (id) id, agent, user_id, number, ended IS NULL, content IS NULL
FROM version
WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)
ORDER BY id, number DESC;

-- name: sayings
SELECT id, user_id, digest, expires_at FROM version
WHERE tenant = %(tenant)s AND agent = %(agent)s AND digest = ANY(%(digests)s) AND ended IS NULL;

-- name: begin_change
INSERT INTO change (seq, id, tenant, agent, user_id, operation, at, key, fingerprint, reason, undoes, about)
VALUES (
  %(seq)s, %(id)s, %(tenant)s, %(agent)s, %(user)s, %(operation)s, %(at)s, %(key)s, %(fingerprint)s,
  %(reason)s, %(undoes)s, %(about)s
);

-- name: end_live
WITH gone AS (
  UPDATE version SET ended = %(seq)s, reason = named.reason, into_id = named.into_id
  FROM unnest(%(ids)s::text[], %(reasons)s::text[], %(intos)s::text[]) AS named (id, reason, into_id)
  WHERE tenant = %(tenant)s AND agent = %(agent)s AND version.id = named.id AND ended IS NULL
  RETURNING length
)
UPDATE agent SET live = live - (SELECT count(*) FROM gone), words = words - (SELECT coalesce(sum(length), 0) FROM gone)
WHERE tenant = %(tenant)s AND agent = %(agent)s;

-- name: begin_versions
WITH given AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(versions)s::json) AS one (
    began bigint, ended bigint, reason text, "into" text, number integer, length integer, created_at bigint,
    occurred_at bigint, expires_at bigint, confidence float8, machine_said boolean, structured boolean,
    "user" text, id text, type text, standing text, session text, digest text, vector text, tokens text, "like" integer,
    terms bigint[], counts integer[], facts jsonb, body text, content text
  )
),
begun AS (
  INSERT INTO version (
    began, ended, reason, into_id, number, length, created_at, occurred_at, expires_at, confidence,
    machine_said, structured, tenant, agent, user_id, id, type, standing, session, digest, vector, tokens, terms,
    counts, facts, body, content
  )
  SELECT began, ended, reason, "into", number, length, created_at, occurred_at, expires_at, confidence,
    machine_said, structured, %(tenant)s, %(agent)s, "user", id, type, standing, session, decode(digest, 'hex'),
    CASE WHEN "like" IS NULL THEN vector::halfvec ELSE (
      SELECT old.vector FROM version AS old
      WHERE old.tenant = %(tenant)s AND old.id = given.id AND old.number = given."like"
    ) END,
    CASE WHEN "like" IS NULL THEN decode(tokens, 'base64') ELSE (
      SELECT old.tokens FROM version AS old
      WHERE old.tenant = %(tenant)s AND old.id = given.id AND old.number = given."like"
    ) END,
    terms, counts, facts, body, content
  FROM given
  RETURNING position, id, number
)
INSERT INTO posting (key, position, count, tenant)
SELECT entry.key, begun.position, entry.count, %(tenant)s
FROM begun JOIN given USING (id, number) CROSS JOIN LATERAL unnest(terms, counts) AS entry (key, count);

-- name: announce
SELECT pg_notify(current_schema(), %(seq)s::text);

-- name: count_begun
UPDATE agent SET live = live + %(live)s, words = words + %(words)s
WHERE tenant = %(tenant)s AND agent = %(agent)s;

-- name: erase_postings
DELETE FROM posting USING version
WHERE version.tenant = %(tenant)s AND version.id = ANY(%(ids)s)
  AND posting.tenant = %(tenant)s AND posting.key = ANY(version.terms) AND posting.position = version.position;

-- name: erase_versions
UPDATE version SET
  reason = 'erased', into_id = NULL, type = NULL, standing = NULL, confidence = NULL, created_at = NULL,
  occurred_at = NULL, expires_at = NULL, session = NULL, digest = NULL, length = NULL, machine_said = NULL,
  structured = NULL, facts = NULL, body = NULL, content = NULL, vector = NULL, terms = NULL,
  counts = NULL, vector_next = NULL, tokens = NULL, tokens_next = NULL
WHERE tenant = %(tenant)s AND id = ANY(%(ids)s);

-- name: erase_recalls
DELETE FROM recall WHERE tenant = %(tenant)s AND id = ANY(%(ids)s);

-- name: erase_fingerprints
UPDATE change SET fingerprint = NULL, reason = NULL
WHERE tenant = %(tenant)s AND (
  about = ANY(%(ids)s)
  OR (agent = %(agent)s AND seq IN (SELECT began FROM version WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)))
);

-- name: erase_reasons
UPDATE change SET reason = NULL
WHERE tenant = %(tenant)s AND agent = %(agent)s AND seq <> %(seq)s
  AND seq IN (SELECT ended FROM version WHERE tenant = %(tenant)s AND id = ANY(%(ids)s));

-- name: touch
INSERT INTO recall (tenant, id, at, count)
SELECT tenant, version.id, %(at)s, count(*)
FROM unnest(%(ids)s::text[]) AS recalled (id) JOIN version ON version.id = recalled.id
WHERE tenant = %(tenant)s AND agent = %(agent)s AND ended IS NULL
  AND (%(user)s::text IS NULL OR user_id = %(user)s::text)
GROUP BY tenant, version.id
ORDER BY version.id
ON CONFLICT (tenant, id) DO UPDATE
SET at = greatest(recall.at, excluded.at), count = recall.count + excluded.count;

-- name: recalls
SELECT coalesce(recall.count, 0)
FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS asked (id, place)
LEFT JOIN recall ON recall.tenant = %(tenant)s AND recall.id = asked.id
ORDER BY place;

-- name: get
SELECT {record}
FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS asked (id, place)
JOIN version ON version.id = asked.id
WHERE tenant = %(tenant)s AND agent = %(agent)s AND ended IS NULL
  AND (%(user)s::text IS NULL OR user_id = %(user)s::text)
ORDER BY place;

-- name: find
SELECT {record} FROM version
WHERE {conditions}
ORDER BY id LIMIT %(limit)s;

-- name: find_backwards
SELECT {record} FROM version
WHERE {conditions}
ORDER BY id DESC LIMIT %(limit)s;

-- name: owners
SELECT agent, live FROM agent WHERE tenant = %(tenant)s AND live > 0;

-- name: count
SELECT count(*) FROM version WHERE {conditions};

-- name: positions
SELECT position FROM version WHERE {conditions};

-- name: scan
SELECT {record} FROM version WHERE {conditions};

-- name: at_positions
SELECT {record} FROM version
WHERE tenant = %(tenant)s AND position = ANY(%(positions)s) AND content IS NOT NULL;

-- name: same_content
SELECT min(id) FROM version
WHERE tenant = %(tenant)s AND agent = %(agent)s AND digest = %(digest)s AND ended IS NULL
  AND user_id IS NOT DISTINCT FROM %(user)s::text AND id <> %(id)s
  AND (expires_at IS NULL OR expires_at > %(at)s);

-- name: history
SELECT {version} FROM version
JOIN change AS b ON b.tenant = version.tenant AND b.agent = version.agent AND b.seq = version.began
LEFT JOIN change AS e ON e.tenant = version.tenant AND e.agent = version.agent AND e.seq = version.ended
WHERE {conditions}
ORDER BY version.id, version.number;

-- name: change_by_id
SELECT {change} FROM change WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: change_by_key
SELECT {change} FROM change WHERE tenant = %(tenant)s AND agent = %(agent)s AND key = %(key)s;

-- name: newest_changes
SELECT {change} FROM change
WHERE tenant = %(tenant)s AND agent = %(agent)s AND (%(user)s::text IS NULL OR user_id = %(user)s::text)
ORDER BY seq DESC LIMIT %(limit)s;

-- name: agents
SELECT agent FROM agent WHERE tenant = %(tenant)s;

-- name: log
SELECT {change} FROM change
WHERE tenant = %(tenant)s AND agent = %(agent)s AND (%(user)s::text IS NULL OR user_id = %(user)s::text)
  AND seq > %(after)s
ORDER BY seq LIMIT %(limit)s;

-- name: origins
SELECT version.id, change.id FROM version
JOIN change ON change.tenant = version.tenant AND change.agent = version.agent AND change.seq = version.began
WHERE version.tenant = %(tenant)s AND version.id = ANY(%(ids)s) AND version.number = 1;

-- name: owners_of_changes
SELECT id, agent FROM change WHERE tenant = %(tenant)s AND id = ANY(%(ids)s);

-- name: tokens_at
SELECT position, tokens FROM version
WHERE tenant = %(tenant)s AND position = ANY(%(positions)s) AND tokens IS NOT NULL;

-- name: without_tokens
SELECT {record} FROM version
WHERE tenant = %(tenant)s AND (id, number) > (%(id)s, %(number)s)
  AND content IS NOT NULL AND vector IS NOT NULL AND tokens IS NULL
ORDER BY id, number LIMIT %(limit)s;

-- name: keep_tokens
UPDATE version SET tokens = made.tokens
FROM unnest(%(positions)s::bigint[], %(tokens)s::bytea[]) AS made (position, tokens)
WHERE version.position = made.position AND version.content IS NOT NULL;

-- name: vectors_of
SELECT version.vector::text
FROM unnest(%(ids)s::text[], %(numbers)s::int[]) WITH ORDINALITY AS asked (id, number, place)
LEFT JOIN version ON version.tenant = %(tenant)s AND version.id = asked.id AND version.number = asked.number
ORDER BY place;

-- name: agent_now
-- It names the table of versions, which therefore keeps its vectors until the transaction ends.
SELECT agent.live, agent.words, coalesce(
  (SELECT seq FROM change WHERE tenant = %(tenant)s AND agent = %(agent)s ORDER BY seq DESC LIMIT 1), 0),
  (SELECT value FROM meta WHERE key = 'reembedded')
FROM agent LEFT JOIN version ON false
WHERE agent.tenant = %(tenant)s AND agent.agent = %(agent)s;

-- name: shelf_all
SELECT {indexed} FROM version
WHERE tenant = %(tenant)s AND agent = %(agent)s AND began > 0 AND began <= %(head)s
  AND (ended IS NULL OR ended > %(head)s) AND content IS NOT NULL;

-- name: shelf_begun
SELECT {indexed} FROM version
WHERE tenant = %(tenant)s AND agent = %(agent)s AND began > 0 AND began > %(seen)s AND began <= %(head)s
  AND (ended IS NULL OR ended > %(head)s) AND content IS NOT NULL;

-- name: shelf_ended
SELECT position FROM version
WHERE tenant = %(tenant)s AND agent = %(agent)s AND ended > %(seen)s AND ended <= %(head)s AND began <= %(seen)s;

-- name: shelf_at
SELECT {indexed} FROM version
WHERE tenant = %(tenant)s AND position = ANY(%(positions)s) AND content IS NOT NULL;

-- name: user_size
SELECT count(*) FROM (
  SELECT FROM version
  WHERE tenant = %(tenant)s AND agent = %(agent)s AND user_id = %(user)s AND ended IS NULL
  LIMIT %(most)s
) AS few;

-- name: spoken
SELECT EXISTS (
  SELECT FROM posting CROSS JOIN LATERAL (
    SELECT FROM version WHERE version.position = posting.position AND {conditions} LIMIT 1
  ) AS matching
  WHERE posting.tenant = %(tenant)s AND posting.key = ANY(%(names)s)
);

-- name: nearest
SELECT position FROM version
WHERE {conditions} AND vector IS NOT NULL
ORDER BY vector <#> %(asked)s::halfvec
LIMIT %(wanted)s;

-- name: containing
SELECT (
  SELECT count(*) FROM (
    SELECT FROM posting WHERE posting.tenant = %(tenant)s AND posting.key = asked.key LIMIT %(most)s
  ) AS few
)
FROM unnest(%(keys)s::bigint[]) WITH ORDINALITY AS asked (key, place)
ORDER BY place;

-- name: wordiest
WITH found AS MATERIALIZED (
  SELECT position, sum(asked.weight * count / (count + %(k1)s)) AS earned
  FROM unnest(%(keys)s::bigint[], %(weights)s::float8[]) AS asked (key, weight)
  CROSS JOIN LATERAL (
    SELECT position, count FROM posting
    WHERE posting.tenant = %(tenant)s AND posting.key = asked.key LIMIT %(most)s
  ) AS entry
  GROUP BY position
  ORDER BY earned DESC
)
SELECT matching.position
FROM found CROSS JOIN LATERAL (
  SELECT version.position FROM version WHERE version.position = found.position AND {conditions} LIMIT 1
) AS matching
LIMIT %(wanted)s;

-- name: neighbours
SELECT DISTINCT near.position
FROM version AS turn
CROSS JOIN LATERAL (
  (SELECT version.position FROM version
   WHERE {conditions} AND version.session = turn.session AND version.user_id IS NOT DISTINCT FROM turn.user_id
     AND (version.moment, version.id) < (turn.moment, turn.id)
   ORDER BY version.moment DESC, version.id DESC LIMIT %(reach)s)
  UNION ALL
  (SELECT version.position FROM version
   WHERE {conditions} AND version.session = turn.session AND version.user_id IS NOT DISTINCT FROM turn.user_id
     AND (version.moment, version.id) > (turn.moment, turn.id)
   ORDER BY version.moment, version.id LIMIT %(reach)s)
) AS near
WHERE turn.tenant = %(tenant)s AND turn.position = ANY(%(positions)s) AND turn.session IS NOT NULL;

-- name: schema_bytes
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r';

-- name: about_server
SELECT
  current_setting('server_version'),
  (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off',
  (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user);

-- The owner is bound by row-level security as everybody is; for a moment, behind a lock, it is not.

-- name: lift_walls
ALTER TABLE version NO FORCE ROW LEVEL SECURITY;

-- name: raise_walls
ALTER TABLE version FORCE ROW LEVEL SECURITY;

-- name: reembed_clear
ALTER TABLE version DROP COLUMN vector_next, DROP COLUMN tokens_next;

-- name: reembed_begin
ALTER TABLE version ADD COLUMN vector_next halfvec({dimension}), ADD COLUMN tokens_next bytea;

-- name: reembed_room
ALTER TABLE version ADD COLUMN vector_next halfvec, ADD COLUMN tokens_next bytea;

-- name: reembed_inline
ALTER TABLE version ALTER COLUMN vector_next SET STORAGE PLAIN;

-- name: reembed_reach
SELECT coalesce(max(position), 0) FROM version;

-- name: reembed_tenants
WITH RECURSIVE one AS (
  (SELECT tenant FROM version ORDER BY tenant LIMIT 1)
  UNION ALL
  SELECT (SELECT version.tenant FROM version WHERE version.tenant > one.tenant ORDER BY version.tenant LIMIT 1)
  FROM one WHERE one.tenant IS NOT NULL
)
SELECT tenant FROM one WHERE tenant IS NOT NULL;

-- name: reembed_total
SELECT count(*), count(vector_next) FROM version
WHERE tenant = %(tenant)s AND content IS NOT NULL AND vector IS NOT NULL;

-- name: reembed_next
SELECT {record} FROM version
WHERE tenant = %(tenant)s AND (id, number) > (%(id)s, %(number)s)
  AND content IS NOT NULL AND vector IS NOT NULL AND vector_next IS NULL
ORDER BY id, number LIMIT %(limit)s;

-- name: reembed_newer
SELECT {record} FROM version
WHERE position > %(reach)s AND content IS NOT NULL AND vector IS NOT NULL AND vector_next IS NULL
ORDER BY position LIMIT %(limit)s;

-- name: reembed_keep
UPDATE version SET vector_next = made.vector::halfvec, tokens_next = made.tokens
FROM unnest(%(positions)s::bigint[], %(vectors)s::text[], %(tokens)s::bytea[]) AS made (position, vector, tokens)
WHERE version.position = made.position AND version.content IS NOT NULL;

-- name: reembed_drop_index
DROP INDEX IF EXISTS version_nearest_next;

-- name: reembed_index
CREATE INDEX CONCURRENTLY version_nearest_next ON version USING hnsw (vector_next halfvec_ip_ops)
WHERE ended IS NULL;

-- name: reembed_swap
ALTER TABLE version DROP COLUMN vector, DROP COLUMN tokens;
ALTER TABLE version RENAME COLUMN vector_next TO vector;
ALTER TABLE version RENAME COLUMN tokens_next TO tokens;
ALTER INDEX IF EXISTS version_nearest_next RENAME TO version_nearest;

-- name: reembed_meta
INSERT INTO meta (key, value) VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: reembed_done
DELETE FROM meta WHERE key = 'reembedding';

-- name: reembedding_to
SELECT value FROM meta WHERE key = 'reembedding';

-- name: reembedded_to
SELECT value FROM meta WHERE key = 'reembedded';
