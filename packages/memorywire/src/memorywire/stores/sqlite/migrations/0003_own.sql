-- The memories of an agent that belong to none of its users: a recall for a user covers them as well.
CREATE INDEX version_own ON version (tenant, agent, id) WHERE ended IS NULL AND user IS NULL;
