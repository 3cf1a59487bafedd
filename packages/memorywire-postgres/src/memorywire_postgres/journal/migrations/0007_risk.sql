-- How much a proposal could do, so that a queue can begin with the worst: 0 little, 1 some, 2 much.
ALTER TABLE proposal ADD COLUMN risk bigint NOT NULL DEFAULT 0;
UPDATE proposal SET risk = 2 WHERE state IN ('pending', 'stale') AND (
  length_of(body, '$.secrets') > 0 OR length_of(body, '$.instructions') > 0
);
CREATE INDEX proposal_risk ON proposal (tenant, state, risk, position);
