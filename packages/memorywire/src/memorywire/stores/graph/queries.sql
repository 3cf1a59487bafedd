-- name: head
SELECT IFNULL(max(seq), 0) FROM change;

-- name: made
SELECT count(*) FROM sqlite_schema WHERE name = 'graph_name';

-- name: seen
SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'graph seen';

-- name: keep_seen
INSERT INTO meta (key, value) VALUES ('graph seen', :seen)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: agents_since
SELECT DISTINCT tenant, agent FROM change WHERE seq > :seen;

-- name: ended_since
SELECT id, user, reason, into_id FROM version
WHERE tenant = :tenant AND agent = :agent AND ended > :seen
ORDER BY ended, id;

-- name: began_since
SELECT record.*
FROM change CROSS JOIN record ON record.position >= change.first AND record.position < change.first + change.puts
WHERE change.seq > :seen AND record.ended IS NULL
ORDER BY record.position;

-- name: erased
SELECT 1 FROM version WHERE tenant = :tenant AND id = :id AND reason = 'erased' LIMIT 1;

-- name: drop_told
DELETE FROM graph_edge WHERE tenant = :tenant AND source = :id AND told = 'record';

-- name: drop_from
DELETE FROM graph_edge WHERE tenant = :tenant AND source = :id;

-- name: drop_to
DELETE FROM graph_edge WHERE tenant = :tenant AND target = :id;

-- name: drop_names
DELETE FROM graph_name WHERE tenant = :tenant AND id = :id;

-- name: add_edge
INSERT INTO graph_edge (tenant, agent, user, source, kind, target, told)
VALUES (:tenant, :agent, :user, :source, :kind, :target, :told)
ON CONFLICT DO NOTHING;

-- name: add_name
INSERT INTO graph_name (tenant, agent, user, name, id)
VALUES (:tenant, :agent, :user, :name, :id)
ON CONFLICT DO NOTHING;

-- name: edges
SELECT source, kind, target FROM graph_edge
WHERE tenant = :tenant AND agent = :agent AND (:user IS NULL OR user = :user)
  AND source IN (SELECT value FROM json_each(:ids))
UNION
SELECT source, kind, target FROM graph_edge
WHERE tenant = :tenant AND agent = :agent AND (:user IS NULL OR user = :user)
  AND target IN (SELECT value FROM json_each(:ids))
ORDER BY source, kind, target;

-- Memories with a name in common with one of these. Names that are too frequent are ignored.
-- name: namesakes
SELECT DISTINCT mine.id, other.id
FROM graph_name AS mine
JOIN graph_name AS other ON other.tenant = mine.tenant AND other.agent = mine.agent AND other.name = mine.name
WHERE mine.tenant = :tenant AND mine.agent = :agent AND mine.id IN (SELECT value FROM json_each(:ids))
  AND other.id <> mine.id
  AND mine.name NOT IN (SELECT value FROM json_each(:asked))
  AND (:user IS NULL OR (mine.user = :user AND other.user = :user))
  AND (
    SELECT count(*) FROM graph_name AS one
    WHERE one.tenant = mine.tenant AND one.agent = mine.agent AND one.name = mine.name
      AND (:user IS NULL OR one.user = :user)
  ) <= :crowd
ORDER BY mine.id, other.id;
