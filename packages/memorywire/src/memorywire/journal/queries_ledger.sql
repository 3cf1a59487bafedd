-- name: is_there
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ledger';

-- name: head
SELECT seq, chain FROM ledger ORDER BY seq DESC LIMIT 1;

-- name: head_for
SELECT seq, chain, (SELECT mark FROM ledger_person WHERE tenant = :tenant AND user = :user)
FROM ledger ORDER BY seq DESC LIMIT 1;

-- name: mark
SELECT mark FROM ledger_person WHERE tenant = :tenant AND user = :user;

-- name: add_person
INSERT INTO ledger_person (mark, tenant, user, salt) VALUES (:mark, :tenant, :user, :salt);

-- name: append
INSERT INTO ledger (seq, body, chain) VALUES (?, ?, ?);

-- name: salt
INSERT INTO ledger_salt (seq, tenant, memory, version, salt) VALUES (?, ?, ?, ?, ?);

-- name: scrub
UPDATE ledger_salt SET salt = NULL
WHERE tenant = :tenant AND memory = :id AND salt IS NOT NULL
  AND (SELECT agent FROM ledger WHERE ledger.seq = ledger_salt.seq) = :agent;

-- name: salts
SELECT seq, version, salt FROM ledger_salt WHERE tenant = :tenant AND memory = :memory ORDER BY seq, version;

-- What is of another type than it was written with is no entry any more.

-- name: by_day
SELECT at / 86400000 AS day, operation, count(*)
FROM (SELECT at, operation, tenant FROM ledger ORDER BY seq DESC LIMIT :newest)
WHERE tenant = :tenant GROUP BY day, operation ORDER BY day;

-- name: entry
SELECT seq, CASE typeof(body) WHEN 'text' THEN CAST(body AS BLOB) END, CASE typeof(chain) WHEN 'blob' THEN chain END,
  (SELECT person.user FROM ledger_person AS person WHERE person.mark = json_extract(body, '$.person'))
FROM ledger WHERE seq = ?;

-- name: rows
SELECT seq, CASE typeof(body) WHEN 'text' THEN CAST(body AS BLOB) END, CASE typeof(chain) WHEN 'blob' THEN chain END
FROM ledger WHERE seq > ? ORDER BY seq;

-- name: log
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

-- name: about
SELECT seq, CAST(body AS BLOB), chain,
  (SELECT person.user FROM ledger_person AS person WHERE person.mark = json_extract(body, '$.person'))
FROM ledger WHERE subject = :subject AND tenant = :tenant ORDER BY seq DESC;

-- name: edge
SELECT size, chain, nodes FROM ledger_edge;

-- name: keep_edge
INSERT INTO ledger_edge (one, size, chain, nodes) VALUES (1, :size, :chain, :nodes)
ON CONFLICT (one) DO UPDATE SET size = excluded.size, chain = excluded.chain, nodes = excluded.nodes
WHERE excluded.size > ledger_edge.size;

-- name: exposed
SELECT (SELECT IFNULL(max(seq), 0) FROM ledger) - edge.size,
  (SELECT at FROM ledger WHERE seq = edge.size + 1)
FROM (SELECT IFNULL(max(size), 0) AS size FROM ledger_edge) AS edge;
