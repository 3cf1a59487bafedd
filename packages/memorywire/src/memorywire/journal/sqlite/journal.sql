-- Proposals, the outbox, rules, recalls, rejected words and the register, in SQLite. The statements of Postgres have the same names, parameters and columns.

-- name: schema_version
SELECT number FROM journal_version;

-- name: has_schema_version
SELECT count(*) FROM sqlite_schema WHERE name = 'journal_version';

-- name: create_schema_version
CREATE TABLE journal_version (number INTEGER NOT NULL) STRICT;
INSERT INTO journal_version (number) VALUES (0);

-- name: set_schema_version
UPDATE journal_version SET number = ?;

-- Adds no request that already waits, because two callers may add the same one at the same time.
-- name: add_proposal
INSERT INTO proposal (id, tenant, agent, user, state, revision, batch, key, digest, risk, expires_at, body, plan)
SELECT :id, :tenant, :agent, :user, :state, :revision, :batch, :key, :digest, :risk, :expires_at, :body, :plan
WHERE :state <> 'pending' OR NOT EXISTS (
  SELECT 1 FROM proposal
  WHERE tenant = :tenant AND agent = :agent AND key = :key AND state IN ('pending', 'stale')
)
ON CONFLICT (id) DO NOTHING;

-- name: update_proposal
UPDATE proposal SET state = :state, revision = :revision, risk = :risk, expires_at = :expires_at, body = :body,
  plan = :plan
WHERE id = :id AND tenant = :tenant AND revision = :revision - 1;

-- name: unlink_proposal
DELETE FROM proposal_memory WHERE proposal = :id AND tenant = :tenant;

-- name: link_proposal
INSERT INTO proposal_memory (tenant, memory, proposal) VALUES (:tenant, :memory, :proposal);

-- name: erase_proposals
UPDATE proposal SET plan = NULL, digest = NULL, revision = revision + 1,
  state = CASE WHEN state IN ('pending', 'stale') THEN 'expired' ELSE state END
WHERE tenant = :tenant AND agent = :agent AND (:user IS NULL OR user IS NULL OR user = :user)
  AND id IN (SELECT proposal FROM proposal_memory WHERE tenant = :tenant AND memory = :id)
RETURNING id;

-- name: erase_proposals_like
UPDATE proposal SET plan = NULL, digest = NULL, revision = revision + 1,
  state = CASE WHEN state IN ('pending', 'stale') THEN 'expired' ELSE state END
WHERE tenant = :tenant AND agent = :agent AND user IS :user AND digest = :digest
RETURNING id;

-- name: proposed_memories
SELECT DISTINCT link.memory FROM proposal_memory AS link JOIN proposal ON proposal.id = link.proposal
WHERE link.tenant = :tenant AND link.memory IN (SELECT value FROM json_each(:ids))
  AND proposal.tenant = :tenant AND proposal.agent = :agent AND (:user IS NULL OR proposal.user = :user)
  AND proposal.plan IS NOT NULL;

-- name: proposal
SELECT body, plan, state, revision FROM proposal WHERE tenant = :tenant AND id = :id;

-- name: proposals
SELECT body, plan, state, revision FROM proposal
WHERE tenant = :tenant
  AND (:agent IS NULL OR agent = :agent)
  AND (:user IS NULL OR user = :user)
  AND (:batch IS NULL OR batch = :batch)
  AND (:rule IS NULL OR json_extract(body, '$.rule') = :rule)
  AND (:assignee IS NULL OR IFNULL(json_extract(body, '$.assignee'), '') = :assignee)
  AND (:awake_at IS NULL OR IFNULL(json_extract(body, '$.snoozed_until'), 0) <= :awake_at)
  AND (:snoozed_at IS NULL OR json_extract(body, '$.snoozed_until') > :snoozed_at)
  AND (:text IS NULL OR instr(lower(json_extract(plan, '$.change.put[0].record.content')), lower(:text)))
  AND state IN (SELECT value FROM json_each(:states))
  AND position > IFNULL((SELECT position FROM proposal WHERE tenant = :tenant AND id = :after), 0)
ORDER BY position LIMIT :limit;

-- The rows are selected before their bodies are read, because there may be many.

-- name: proposals_by_risk
SELECT body, plan, state, revision FROM proposal
WHERE position IN (
  SELECT position FROM proposal
  WHERE tenant = :tenant
    AND (:agent IS NULL OR agent = :agent)
    AND (:user IS NULL OR user = :user)
    AND (:batch IS NULL OR batch = :batch)
    AND (:rule IS NULL OR json_extract(body, '$.rule') = :rule)
    AND (:assignee IS NULL OR IFNULL(json_extract(body, '$.assignee'), '') = :assignee)
    AND (:awake_at IS NULL OR IFNULL(json_extract(body, '$.snoozed_until'), 0) <= :awake_at)
    AND (:snoozed_at IS NULL OR json_extract(body, '$.snoozed_until') > :snoozed_at)
    AND (:text IS NULL OR instr(lower(json_extract(plan, '$.change.put[0].record.content')), lower(:text)))
    AND state IN (SELECT value FROM json_each(:states))
    AND (:after IS NULL OR (risk, position) < (
      SELECT risk, position FROM proposal WHERE tenant = :tenant AND id = :after
    ))
  ORDER BY risk DESC, position DESC LIMIT :limit
)
ORDER BY risk DESC, position DESC;

-- name: count_proposals
SELECT count(*) FROM proposal
WHERE tenant = :tenant
  AND (:agent IS NULL OR agent = :agent)
  AND (:user IS NULL OR user = :user)
  AND (:batch IS NULL OR batch = :batch)
  AND (:rule IS NULL OR json_extract(body, '$.rule') = :rule)
  AND (:assignee IS NULL OR IFNULL(json_extract(body, '$.assignee'), '') = :assignee)
  AND (:awake_at IS NULL OR IFNULL(json_extract(body, '$.snoozed_until'), 0) <= :awake_at)
  AND (:snoozed_at IS NULL OR json_extract(body, '$.snoozed_until') > :snoozed_at)
  AND (:text IS NULL OR instr(lower(json_extract(plan, '$.change.put[0].record.content')), lower(:text)))
  AND state IN (SELECT value FROM json_each(:states));

-- name: overdue_proposals
SELECT body, plan, state, revision FROM proposal
WHERE state IN ('pending', 'stale') AND expires_at <= :now ORDER BY position LIMIT 1000;

-- name: proposals_expired_early
SELECT body, plan, state, revision FROM proposal
WHERE state = 'expired' AND expires_at > :now AND plan IS NOT NULL ORDER BY position LIMIT 1000;

-- name: proposal_by_key
SELECT body, plan, state, revision FROM proposal
WHERE tenant = :tenant AND agent = :agent AND key = :key ORDER BY position DESC LIMIT 1;

-- name: waiting_proposal_by_digest
SELECT body, plan, state, revision FROM proposal
WHERE tenant = :tenant AND agent = :agent AND user IS :user AND digest = :digest
  AND state IN ('pending', 'stale') LIMIT 1;

-- name: put_outbox_entry
INSERT INTO debt (store, change, at, tries, due_at, error, body)
VALUES (:store, :change, :at, :tries, :due_at, :error, :body)
ON CONFLICT (store, change) DO UPDATE
SET tries = excluded.tries, due_at = excluded.due_at, error = excluded.error, body = excluded.body;

-- name: delete_outbox_entry
DELETE FROM debt WHERE store = :store AND change = :change;

-- name: outbox_entries
SELECT store, at, tries, due_at, error, body, position FROM debt
WHERE (:store IS NULL OR store = :store) AND position > :after ORDER BY position LIMIT :limit;

-- name: lagging_stores
SELECT DISTINCT store FROM debt WHERE tries > 0 OR at < :left;

-- name: add_edition
INSERT INTO edition (tenant, number, at, by, rules) VALUES (:tenant, :number, :at, :by, :rules)
ON CONFLICT DO NOTHING;

-- name: editions
SELECT number, at, by, rules, tenant FROM edition WHERE tenant = :tenant ORDER BY number DESC LIMIT :limit;

-- name: add_ruled_change
INSERT INTO ruled (rule, change, tenant, agent, user) VALUES (:rule, :change, :tenant, :agent, :user)
ON CONFLICT DO NOTHING;

-- name: add_loan
INSERT INTO loan (tenant, borrower, lender, id) VALUES (:tenant, :borrower, :lender, :id) ON CONFLICT DO NOTHING;

-- name: loans
SELECT borrower, lender, id FROM loan WHERE tenant = :tenant ORDER BY borrower, lender, id;

-- name: ruled_changes
SELECT tenant, agent, user, change FROM ruled WHERE tenant = :tenant AND rule = :rule ORDER BY change DESC;

-- name: add_recall
INSERT INTO recalled (id, tenant, agent, user, at, caller, verdict, count, query, hits, details)
VALUES (:id, :tenant, :agent, :user, :at, :caller, :verdict, :count, :query, :hits, :details)
ON CONFLICT (id) DO NOTHING;

-- name: erase_queries
UPDATE recalled SET query = NULL, details = NULL
WHERE tenant = :tenant AND instr(hits, :quoted)
  AND agent IN (SELECT :agent UNION ALL SELECT borrower FROM loan WHERE tenant = :tenant AND lender = :agent);

-- name: old_queries
SELECT count(*) FROM (SELECT 1 FROM recalled WHERE query IS NOT NULL AND at < :before LIMIT 1);

-- name: drop_queries
UPDATE recalled SET query = NULL WHERE query IS NOT NULL AND at < :before;

-- name: recall
SELECT id, tenant, agent, user, at, caller, query, verdict, hits, details FROM recalled
WHERE tenant = :tenant AND id = :id;

-- name: recalls
SELECT id, tenant, agent, user, at, caller, query, verdict, hits, details FROM recalled
WHERE tenant = :tenant
  AND (:agent IS NULL OR agent = :agent)
  AND (:user IS NULL OR user = :user)
  AND (:before IS NULL OR id < :before)
  AND (:quoted IS NULL OR instr(hits, :quoted))
  AND (:session_id IS NULL OR details ->> '$.session_id' = :session_id)
  AND (:run_id IS NULL OR details ->> '$.run_id' = :run_id)
  AND (:trace_id IS NULL OR details ->> '$.trace_id' = :trace_id)
ORDER BY id DESC LIMIT :limit;

-- name: waiting_by_agent
SELECT agent, count(*) FROM proposal
WHERE tenant = :tenant AND state IN ('pending', 'stale') GROUP BY agent;

-- name: recall_counts
SELECT at, count FROM recalled
WHERE tenant = :tenant AND at > :since
  AND (:agent IS NULL OR agent = :agent) AND (:caller IS NULL OR caller = :caller)
ORDER BY at, id;

-- name: reject_words
INSERT INTO rejected_words (tenant, digest, proposal) VALUES (:tenant, :digest, :proposal) ON CONFLICT DO NOTHING;

-- name: accept_words
DELETE FROM rejected_words WHERE tenant = :tenant AND digest = :digest;

-- Digests of rejected words whose proposal was erased are deleted too.

-- name: erase_rejected_words
DELETE FROM rejected_words WHERE tenant = :tenant
  AND proposal IN (SELECT id FROM proposal WHERE tenant = :tenant AND plan IS NULL);

-- name: rejected_words_position
SELECT count(*), IFNULL(max(position), 0) FROM rejected_words;

-- name: rejected_words
SELECT digest FROM rejected_words;

-- name: begin_registered
INSERT INTO register (tenant, id, agent, user, version, digest, live)
VALUES (:tenant, :id, :agent, :user, :version, :digest, 1)
ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, digest = excluded.digest, live = 1
WHERE excluded.version > register.version;

-- name: end_registered
INSERT INTO register (tenant, id, agent, user, version, digest, live)
VALUES (:tenant, :id, :agent, :user, :version, NULL, 0)
ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, live = 0
WHERE excluded.version >= register.version AND excluded.agent = register.agent;

-- name: registered_memories
SELECT id, agent, user, version, digest, live FROM register
WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids));
