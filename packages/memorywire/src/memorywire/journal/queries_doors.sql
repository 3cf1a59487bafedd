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
SELECT seq, CAST(body AS BLOB),
  (SELECT person.user FROM ledger_person AS person WHERE person.mark = json_extract(body, '$.person'))
FROM ledger
WHERE seq > :after AND (:tenant IS NULL OR tenant = :tenant) AND kind <> 'recalled'
ORDER BY seq LIMIT :limit;

-- name: last_seq
SELECT IFNULL(max(seq), 0) FROM ledger;

-- name: add_webhook
INSERT INTO webhook (id, url, secret, tenant, agents, made_at, position)
VALUES (:id, :url, :secret, :tenant, :agents, :made_at, :position);

-- name: remove_webhook
DELETE FROM webhook WHERE id = :id;

-- name: webhooks
SELECT id, url, secret, tenant, agents, made_at, position, tries, due_at, error,
  (SELECT count(*) FROM dead_letter WHERE dead_letter.webhook = webhook.id)
FROM webhook ORDER BY made_at, id;

-- Whoever changes the row has the webhook to itself until the lease ends.

-- name: lease_webhook
UPDATE webhook SET due_at = :until WHERE id = :id AND position = :position AND due_at = :due_at;

-- name: told_webhook
UPDATE webhook SET position = :position, tries = 0, due_at = 0, error = NULL WHERE id = :id;

-- name: failed_webhook
UPDATE webhook SET tries = :tries, due_at = :due_at, error = :error WHERE id = :id;

-- name: bury
INSERT INTO dead_letter (webhook, seq, at, error) VALUES (:id, :seq, :at, :error) ON CONFLICT DO NOTHING;

-- name: dead_letters
SELECT seq, at, error FROM dead_letter WHERE webhook = :id ORDER BY seq;

-- Proposals are kept in the order they came, so the first that waits has waited longest.

-- name: proposals_waiting
SELECT count(*), (
  SELECT json_extract(body, '$.at') FROM proposal WHERE state IN ('pending', 'stale') ORDER BY position LIMIT 1
) FROM proposal WHERE state IN ('pending', 'stale');

-- name: debts_by_store
SELECT store, count(*), min(at) FROM debt GROUP BY store ORDER BY store;

-- name: webhooks_standing
SELECT count(*) FILTER (WHERE tries > 0), (SELECT count(*) FROM dead_letter) FROM webhook;

-- Every tenant of whom the ledger says anything about a memory, or of whom something waits or waited for a person:
-- one step of an index each, however many entries.

-- name: tenants
WITH RECURSIVE remembered (tenant) AS (
  SELECT min(tenant) FROM ledger_salt
  UNION ALL
  SELECT (SELECT min(later.tenant) FROM ledger_salt AS later WHERE later.tenant > remembered.tenant)
  FROM remembered WHERE remembered.tenant IS NOT NULL
), proposed (tenant) AS (
  SELECT min(tenant) FROM proposal
  UNION ALL
  SELECT (SELECT min(later.tenant) FROM proposal AS later WHERE later.tenant > proposed.tenant)
  FROM proposed WHERE proposed.tenant IS NOT NULL
)
SELECT tenant FROM remembered WHERE tenant IS NOT NULL
UNION
SELECT tenant FROM proposed WHERE tenant IS NOT NULL
ORDER BY tenant;
