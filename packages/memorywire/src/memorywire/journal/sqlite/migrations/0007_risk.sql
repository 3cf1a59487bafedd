-- How much a proposal could do, so that a queue can begin with the worst: 0 little, 1 some, 2 much.
ALTER TABLE proposal ADD COLUMN risk INTEGER NOT NULL DEFAULT 0;
UPDATE proposal SET risk = 2 WHERE state IN ('pending', 'stale') AND (
  json_array_length(body, '$.secrets') > 0 OR json_array_length(body, '$.instructions') > 0
);
CREATE INDEX proposal_risk ON proposal (tenant, state, risk, position);
