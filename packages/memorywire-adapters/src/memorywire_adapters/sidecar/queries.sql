-- name: schema
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    user TEXT,
    version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'ended', 'erased')),
    digest TEXT,
    expires_at INTEGER,
    key TEXT,
    handle TEXT,
    recalled_at INTEGER,
    recalls INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memory_of_agent ON memory (tenant, agent, id) WHERE state = 'live';
CREATE INDEX IF NOT EXISTS memory_saying ON memory (digest) WHERE digest IS NOT NULL;
CREATE TABLE IF NOT EXISTS written (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    change TEXT NOT NULL,
    agent TEXT NOT NULL,
    key TEXT,
    UNIQUE (tenant, change),
    UNIQUE (tenant, agent, key)
);
CREATE TABLE IF NOT EXISTS litter (
    key TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    user TEXT,
    handle TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vector (fingerprint TEXT PRIMARY KEY, half BLOB NOT NULL) WITHOUT ROWID;

-- name: about
SELECT value FROM about WHERE key = :key;

-- name: say_about
INSERT INTO about (key, value) VALUES (:key, :value);

-- name: sequence
SELECT sequence FROM written WHERE tenant = :tenant AND change = :change;

-- name: key_used
SELECT 1 FROM written WHERE tenant = :tenant AND agent = :agent AND key = :key;

-- name: write_down
INSERT INTO written (tenant, change, agent, key) VALUES (:tenant, :change, :agent, :key) RETURNING sequence;

-- name: lines
SELECT id, tenant, agent, user, version, state, digest, expires_at, key, handle, recalled_at
FROM memory
WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids));

-- name: saying
SELECT id, tenant, agent, user, version, state, digest, expires_at, key, handle, recalled_at
FROM memory
WHERE digest = :digest AND tenant = :tenant AND agent = :agent AND user IS :user AND state = 'live';

-- name: page
SELECT id, tenant, agent, user, version, state, digest, expires_at, key, handle, recalled_at
FROM memory
WHERE tenant = :tenant AND agent = :agent AND state = 'live'
    AND (:user IS NULL OR user = :user)
    AND (:after IS NULL OR id > :after)
ORDER BY id
LIMIT :limit;

-- name: page_backwards
SELECT id, tenant, agent, user, version, state, digest, expires_at, key, handle, recalled_at
FROM memory
WHERE tenant = :tenant AND agent = :agent AND state = 'live'
    AND (:user IS NULL OR user = :user)
    AND (:after IS NULL OR id < :after)
ORDER BY id DESC
LIMIT :limit;

-- name: owners
SELECT agent, count(*) FROM memory WHERE tenant = :tenant AND state = 'live' GROUP BY agent ORDER BY agent;

-- name: size
SELECT count(*) FROM memory
WHERE tenant = :tenant AND agent = :agent AND state = 'live' AND (:user IS NULL OR user = :user);

-- name: agents
SELECT DISTINCT tenant, agent FROM memory ORDER BY tenant, agent;

-- name: live
SELECT count(*) FROM memory WHERE state = 'live';

-- name: keep
INSERT INTO memory (tenant, id, agent, user, version, state, digest, expires_at, key, handle, recalled_at)
VALUES (:tenant, :id, :agent, :user, :version, :state, :digest, :expires_at, :key, :handle, :recalled_at)
ON CONFLICT (tenant, id) DO UPDATE SET
    version = excluded.version,
    state = excluded.state,
    digest = excluded.digest,
    expires_at = excluded.expires_at,
    key = excluded.key,
    handle = excluded.handle,
    recalled_at = excluded.recalled_at,
    recalls = CASE excluded.state WHEN 'erased' THEN 0 ELSE recalls END;

-- name: touch
UPDATE memory SET recalled_at = max(:at, ifnull(recalled_at, :at)), recalls = recalls + 1
WHERE tenant = :tenant AND agent = :agent AND state = 'live' AND (:user IS NULL OR user = :user)
    AND id IN (SELECT value FROM json_each(:ids));

-- name: recalls
SELECT recalls FROM memory WHERE tenant = :tenant AND id = :id;

-- name: litter
SELECT key, tenant, agent, user, handle FROM litter ORDER BY key;

-- name: litters
SELECT count(*) FROM litter;

-- name: drop_later
INSERT INTO litter (key, tenant, agent, user, handle) VALUES (:key, :tenant, :agent, :user, :handle)
ON CONFLICT (key) DO UPDATE SET handle = ifnull(excluded.handle, handle);

-- name: dropped
DELETE FROM litter WHERE key IN (SELECT value FROM json_each(:keys));

-- name: keep_vector
INSERT INTO vector (fingerprint, half) VALUES (:fingerprint, :half) ON CONFLICT (fingerprint) DO NOTHING;

-- name: vector
SELECT half FROM vector WHERE fingerprint = :fingerprint;

-- name: drop_vectors
DELETE FROM vector WHERE fingerprint NOT IN (SELECT value FROM json_each(:kept));
