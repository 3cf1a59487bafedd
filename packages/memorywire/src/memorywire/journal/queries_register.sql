-- name: begin
INSERT INTO register (tenant, id, agent, user, version, digest, live)
VALUES (:tenant, :id, :agent, :user, :version, :digest, 1)
ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, digest = excluded.digest, live = 1
WHERE excluded.version > register.version;

-- name: end
INSERT INTO register (tenant, id, agent, user, version, digest, live)
VALUES (:tenant, :id, :agent, :user, :version, NULL, 0)
ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, live = 0
WHERE excluded.version >= register.version AND excluded.agent = register.agent;

-- name: known
SELECT id, agent, user, version, digest, live FROM register
WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids));
