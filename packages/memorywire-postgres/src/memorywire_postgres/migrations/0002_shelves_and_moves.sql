-- How often a version has each of its `terms`, beside them: whoever holds an agent's index in memory reads it
-- from the versions alone. Versions that were there before have none, and are looked up in `posting`.
ALTER TABLE version ADD COLUMN counts integer[];

-- An agent that came from another database brings its sequences along: they are unique within the agent.
ALTER TABLE change DROP CONSTRAINT change_seq_key;
DROP INDEX change_agent;
CREATE UNIQUE INDEX change_agent ON change (tenant, agent, seq);
