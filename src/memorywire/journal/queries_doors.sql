-- name: key
SELECT key FROM token_key;

-- name: keep_key
INSERT INTO token_key (one, key) VALUES (1, ?) ON CONFLICT DO NOTHING;

-- name: any_operator
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

-- name: used
UPDATE token SET used_at = max(IFNULL(used_at, 0), :at) WHERE id = :id;

-- name: events
SELECT seq, CAST(body AS BLOB) FROM ledger
WHERE seq > :after AND (:tenant IS NULL OR tenant = :tenant) AND kind <> 'recalled'
ORDER BY seq LIMIT :limit;

-- name: last_seq
SELECT IFNULL(max(seq), 0) FROM ledger;
