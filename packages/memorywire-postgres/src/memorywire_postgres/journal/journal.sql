-- Proposals, the outbox, rules, recalls, rejected words and the register, in Postgres. The statements of SQLite have the same names, parameters and columns.

-- name: schema_version
SELECT number FROM journal_version;

-- name: has_schema_version
SELECT to_regclass('journal_version') IS NOT NULL;

-- name: create_schema_version
CREATE TABLE journal_version (number bigint NOT NULL);
INSERT INTO journal_version (number) VALUES (0);

-- name: set_schema_version
UPDATE journal_version SET number = %s;

-- A request that waits already is not added again: two callers may hold the same one at the same moment.
-- name: add_proposal
INSERT INTO proposal (id, tenant, agent, "user", state, revision, batch, key, digest, risk, expires_at, body, plan)
SELECT %(id)s, %(tenant)s, %(agent)s, %(user)s, %(state)s, %(revision)s, %(batch)s, %(key)s, %(digest)s, %(risk)s, %(expires_at)s, %(body)s, %(plan)s
WHERE %(state)s <> 'pending' OR NOT EXISTS (
  SELECT 1 FROM proposal
  WHERE tenant = %(tenant)s AND agent = %(agent)s AND key = %(key)s AND state IN ('pending', 'stale')
)
ON CONFLICT (id) DO NOTHING;

-- name: update_proposal
UPDATE proposal SET state = %(state)s, revision = %(revision)s, risk = %(risk)s, expires_at = %(expires_at)s, body = %(body)s,
  plan = %(plan)s
WHERE id = %(id)s AND tenant = %(tenant)s AND revision = %(revision)s - 1;

-- name: unlink_proposal
DELETE FROM proposal_memory WHERE proposal = %(id)s AND tenant = %(tenant)s;

-- name: link_proposal
INSERT INTO proposal_memory (tenant, memory, proposal) VALUES (%(tenant)s, %(memory)s, %(proposal)s);

-- name: erase_proposals
UPDATE proposal SET plan = NULL, digest = NULL, revision = revision + 1,
  state = CASE WHEN state IN ('pending', 'stale') THEN 'expired' ELSE state END
WHERE tenant = %(tenant)s AND agent = %(agent)s AND (%(user)s IS NULL OR "user" IS NULL OR "user" = %(user)s)
  AND id IN (SELECT proposal FROM proposal_memory WHERE tenant = %(tenant)s AND memory = %(id)s)
RETURNING id;

-- name: erase_proposals_like
UPDATE proposal SET plan = NULL, digest = NULL, revision = revision + 1,
  state = CASE WHEN state IN ('pending', 'stale') THEN 'expired' ELSE state END
WHERE tenant = %(tenant)s AND agent = %(agent)s AND "user" IS NOT DISTINCT FROM %(user)s AND digest = %(digest)s
RETURNING id;

-- name: proposed_memories
SELECT DISTINCT link.memory FROM proposal_memory AS link JOIN proposal ON proposal.id = link.proposal
WHERE link.tenant = %(tenant)s AND link.memory IN (SELECT json_array_elements_text(%(ids)s::json))
  AND proposal.tenant = %(tenant)s AND proposal.agent = %(agent)s AND (%(user)s IS NULL OR proposal."user" = %(user)s)
  AND proposal.plan IS NOT NULL;

-- name: proposal
SELECT body, plan, state, revision FROM proposal WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: proposals
SELECT body, plan, state, revision FROM proposal
WHERE tenant = %(tenant)s
  AND (%(agent)s IS NULL OR agent = %(agent)s)
  AND (%(user)s IS NULL OR "user" = %(user)s)
  AND (%(batch)s IS NULL OR batch = %(batch)s)
  AND (%(rule)s IS NULL OR extract_of(body, '$.rule') = %(rule)s)
  AND (%(assignee)s IS NULL OR coalesce(extract_of(body, '$.assignee'), '') = %(assignee)s)
  AND (%(awake_at)s IS NULL OR coalesce(extract_of(body, '$.snoozed_until')::bigint, 0) <= %(awake_at)s)
  AND (%(snoozed_at)s IS NULL OR extract_of(body, '$.snoozed_until')::bigint > %(snoozed_at)s)
  AND (%(text)s IS NULL OR says(lower(extract_of(plan, '$.change.put[0].record.content')), lower(%(text)s)))
  AND state IN (SELECT json_array_elements_text(%(states)s::json))
  AND position > coalesce((SELECT position FROM proposal WHERE tenant = %(tenant)s AND id = %(after)s), 0)
ORDER BY position LIMIT nullif(%(limit)s, -1);

-- Which ones is settled before their bodies are read: there may be many.

-- name: proposals_by_risk
SELECT body, plan, state, revision FROM proposal
WHERE position IN (
  SELECT position FROM proposal
  WHERE tenant = %(tenant)s
    AND (%(agent)s IS NULL OR agent = %(agent)s)
    AND (%(user)s IS NULL OR "user" = %(user)s)
    AND (%(batch)s IS NULL OR batch = %(batch)s)
    AND (%(rule)s IS NULL OR extract_of(body, '$.rule') = %(rule)s)
    AND (%(assignee)s IS NULL OR coalesce(extract_of(body, '$.assignee'), '') = %(assignee)s)
    AND (%(awake_at)s IS NULL OR coalesce(extract_of(body, '$.snoozed_until')::bigint, 0) <= %(awake_at)s)
    AND (%(snoozed_at)s IS NULL OR extract_of(body, '$.snoozed_until')::bigint > %(snoozed_at)s)
    AND (%(text)s IS NULL OR says(lower(extract_of(plan, '$.change.put[0].record.content')), lower(%(text)s)))
    AND state IN (SELECT json_array_elements_text(%(states)s::json))
    AND (%(after)s IS NULL OR (risk, position) < (
      SELECT risk, position FROM proposal WHERE tenant = %(tenant)s AND id = %(after)s
    ))
  ORDER BY risk DESC, position DESC LIMIT nullif(%(limit)s, -1)
)
ORDER BY risk DESC, position DESC;

-- name: count_proposals
SELECT count(*) FROM proposal
WHERE tenant = %(tenant)s
  AND (%(agent)s IS NULL OR agent = %(agent)s)
  AND (%(user)s IS NULL OR "user" = %(user)s)
  AND (%(batch)s IS NULL OR batch = %(batch)s)
  AND (%(rule)s IS NULL OR extract_of(body, '$.rule') = %(rule)s)
  AND (%(assignee)s IS NULL OR coalesce(extract_of(body, '$.assignee'), '') = %(assignee)s)
  AND (%(awake_at)s IS NULL OR coalesce(extract_of(body, '$.snoozed_until')::bigint, 0) <= %(awake_at)s)
  AND (%(snoozed_at)s IS NULL OR extract_of(body, '$.snoozed_until')::bigint > %(snoozed_at)s)
  AND (%(text)s IS NULL OR says(lower(extract_of(plan, '$.change.put[0].record.content')), lower(%(text)s)))
  AND state IN (SELECT json_array_elements_text(%(states)s::json));

-- name: overdue_proposals
SELECT body, plan, state, revision FROM proposal
WHERE state IN ('pending', 'stale') AND expires_at <= %(now)s ORDER BY position LIMIT 1000;

-- name: proposals_expired_early
SELECT body, plan, state, revision FROM proposal
WHERE state = 'expired' AND expires_at > %(now)s AND plan IS NOT NULL ORDER BY position LIMIT 1000;

-- name: proposal_by_key
SELECT body, plan, state, revision FROM proposal
WHERE tenant = %(tenant)s AND agent = %(agent)s AND key = %(key)s ORDER BY position DESC LIMIT 1;

-- name: waiting_proposal_by_digest
SELECT body, plan, state, revision FROM proposal
WHERE tenant = %(tenant)s AND agent = %(agent)s AND "user" IS NOT DISTINCT FROM %(user)s AND digest = %(digest)s
  AND state IN ('pending', 'stale') LIMIT 1;

-- name: put_outbox_entry
INSERT INTO debt (store, change, at, tries, due_at, error, body)
VALUES (%(store)s, %(change)s, %(at)s, %(tries)s, %(due_at)s, %(error)s, %(body)s)
ON CONFLICT (store, change) DO UPDATE
SET tries = excluded.tries, due_at = excluded.due_at, error = excluded.error, body = excluded.body;

-- name: delete_outbox_entry
DELETE FROM debt WHERE store = %(store)s AND change = %(change)s;

-- name: outbox_entries
SELECT store, at, tries, due_at, error, body, position FROM debt
WHERE (%(store)s IS NULL OR store = %(store)s) AND position > %(after)s ORDER BY position LIMIT nullif(%(limit)s, -1);

-- name: lagging_stores
SELECT DISTINCT store FROM debt WHERE tries > 0 OR at < %(left)s;

-- name: add_edition
INSERT INTO edition (tenant, number, at, by, rules) VALUES (%(tenant)s, %(number)s, %(at)s, %(by)s, %(rules)s)
ON CONFLICT DO NOTHING;

-- name: editions
SELECT number, at, by, rules, tenant FROM edition WHERE tenant = %(tenant)s ORDER BY number DESC LIMIT nullif(%(limit)s, -1);

-- name: add_ruled_change
INSERT INTO ruled (rule, change, tenant, agent, "user") VALUES (%(rule)s, %(change)s, %(tenant)s, %(agent)s, %(user)s)
ON CONFLICT DO NOTHING;

-- name: add_loan
INSERT INTO loan (tenant, borrower, lender, id)
VALUES (%(tenant)s, %(borrower)s, %(lender)s, %(id)s) ON CONFLICT DO NOTHING;

-- name: loans
SELECT borrower, lender, id FROM loan WHERE tenant = %(tenant)s ORDER BY borrower, lender, id;

-- name: ruled_changes
SELECT tenant, agent, "user", change FROM ruled WHERE tenant = %(tenant)s AND rule = %(rule)s ORDER BY change DESC;

-- name: add_recall
INSERT INTO recalled (id, tenant, agent, "user", at, caller, verdict, count, query, hits, details)
VALUES (%(id)s, %(tenant)s, %(agent)s, %(user)s, %(at)s, %(caller)s, %(verdict)s, %(count)s, %(query)s, %(hits)s, %(details)s)
ON CONFLICT (id) DO NOTHING;

-- name: erase_queries
UPDATE recalled SET query = NULL, details = NULL
WHERE tenant = %(tenant)s AND says(hits, %(quoted)s) AND agent IN (
  SELECT %(agent)s UNION ALL SELECT borrower FROM loan WHERE tenant = %(tenant)s AND lender = %(agent)s
);

-- name: old_queries
SELECT count(*) FROM (SELECT 1 FROM recalled WHERE query IS NOT NULL AND at < %(before)s LIMIT 1) AS part;

-- name: drop_queries
UPDATE recalled SET query = NULL WHERE query IS NOT NULL AND at < %(before)s;

-- name: recall
SELECT id, tenant, agent, "user", at, caller, query, verdict, hits, details FROM recalled
WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: recalls
SELECT id, tenant, agent, "user", at, caller, query, verdict, hits, details FROM recalled
WHERE tenant = %(tenant)s
  AND (%(agent)s IS NULL OR agent = %(agent)s)
  AND (%(user)s IS NULL OR "user" = %(user)s)
  AND (%(before)s IS NULL OR id < %(before)s)
  AND (%(quoted)s IS NULL OR says(hits, %(quoted)s))
  AND (%(session_id)s IS NULL OR details::json ->> 'session_id' = %(session_id)s)
  AND (%(run_id)s IS NULL OR details::json ->> 'run_id' = %(run_id)s)
  AND (%(trace_id)s IS NULL OR details::json ->> 'trace_id' = %(trace_id)s)
ORDER BY id DESC LIMIT nullif(%(limit)s, -1);

-- name: waiting_by_agent
SELECT agent, count(*) FROM proposal
WHERE tenant = %(tenant)s AND state IN ('pending', 'stale') GROUP BY agent;

-- name: recall_counts
SELECT at, count FROM recalled
WHERE tenant = %(tenant)s AND at > %(since)s
  AND (%(agent)s IS NULL OR agent = %(agent)s) AND (%(caller)s IS NULL OR caller = %(caller)s)
ORDER BY at, id;

-- name: reject_words
INSERT INTO rejected_words (tenant, digest, proposal) VALUES (%(tenant)s, %(digest)s, %(proposal)s) ON CONFLICT DO NOTHING;

-- name: accept_words
DELETE FROM rejected_words WHERE tenant = %(tenant)s AND digest = %(digest)s;

-- What a rejected proposal said is gone once it was erased; so is the digest of it.

-- name: erase_rejected_words
DELETE FROM rejected_words WHERE tenant = %(tenant)s
  AND proposal IN (SELECT id FROM proposal WHERE tenant = %(tenant)s AND plan IS NULL);

-- name: rejected_words_position
SELECT count(*), coalesce(max(position), 0) FROM rejected_words;

-- name: rejected_words
SELECT digest FROM rejected_words;

-- name: begin_registered
INSERT INTO register (tenant, id, agent, "user", version, digest, live)
VALUES (%(tenant)s, %(id)s, %(agent)s, %(user)s, %(version)s, %(digest)s, 1)
ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, digest = excluded.digest, live = 1
WHERE excluded.version > register.version;

-- name: end_registered
INSERT INTO register (tenant, id, agent, "user", version, digest, live)
VALUES (%(tenant)s, %(id)s, %(agent)s, %(user)s, %(version)s, NULL, 0)
ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, live = 0
WHERE excluded.version >= register.version AND excluded.agent = register.agent;

-- name: registered_memories
SELECT id, agent, "user", version, digest, live FROM register
WHERE tenant = %(tenant)s AND id IN (SELECT json_array_elements_text(%(ids)s::json));
