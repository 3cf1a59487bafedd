-- name: add_run
INSERT INTO openwop_run (id, tenant, caller, workflow, status, at, ended_at, body)
VALUES (:id, :tenant, :caller, :workflow, :status, :at, :ended_at, :body);

-- name: run
SELECT id, tenant, caller, workflow, status, at, ended_at, body FROM openwop_run
WHERE id = :id AND tenant = :tenant;

-- name: runs_begun_before
SELECT id, tenant, caller, workflow, status, at, ended_at, body FROM openwop_run
WHERE status = 'running' AND at < :moment ORDER BY at;

-- name: end_run
UPDATE openwop_run SET status = :status, ended_at = :ended_at, body = :body
WHERE id = :id AND status = 'running' RETURNING id;

-- name: last_run_event
SELECT IFNULL(max(sequence), 0) FROM openwop_event WHERE run = :run;

-- name: add_run_event
INSERT INTO openwop_event (run, sequence, id, at, type, payload)
VALUES (:run, :sequence, :id, :at, :type, :payload);

-- name: run_events
SELECT id, run, sequence, at, type, payload FROM openwop_event
WHERE run = :run AND sequence > :after ORDER BY sequence;

-- name: add_run_read
INSERT INTO openwop_read (run, agent, user, memory, version)
VALUES (:run, :agent, :user, :memory, :version) ON CONFLICT DO NOTHING;

-- name: run_reads
SELECT agent, user, memory, version FROM openwop_read WHERE run = :run ORDER BY memory, version;
