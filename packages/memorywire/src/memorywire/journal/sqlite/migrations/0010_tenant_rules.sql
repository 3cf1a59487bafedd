-- The rules that people gave belong to a tenant, and are counted for it. Those that were there are the default
-- tenant's, whose rules are in force for every tenant.
CREATE TABLE edition_of_tenant (
  tenant TEXT NOT NULL,
  number INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  by     TEXT NOT NULL,
  rules  TEXT NOT NULL,
  PRIMARY KEY (tenant, number)
) STRICT;
INSERT INTO edition_of_tenant (tenant, number, at, by, rules)
SELECT 'default', number, at, by, rules FROM edition;
DROP TABLE edition;
ALTER TABLE edition_of_tenant RENAME TO edition;

-- Which rule of a tenant let a change pass.
CREATE TABLE ruled_of_tenant (
  tenant TEXT NOT NULL,
  rule   TEXT NOT NULL,
  change TEXT NOT NULL,
  agent  TEXT NOT NULL,
  user   TEXT,
  PRIMARY KEY (tenant, rule, change)
) STRICT, WITHOUT ROWID;
INSERT INTO ruled_of_tenant (tenant, rule, change, agent, user)
SELECT tenant, rule, change, agent, user FROM ruled;
DROP TABLE ruled;
ALTER TABLE ruled_of_tenant RENAME TO ruled;
