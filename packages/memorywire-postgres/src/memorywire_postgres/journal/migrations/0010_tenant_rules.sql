-- The rules that people gave belong to a tenant, and are counted for it. Those that were there are the default
-- tenant's, whose rules are in force for every tenant.
CREATE TABLE edition_of_tenant (
  tenant text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  at     bigint NOT NULL,
  by     text COLLATE "C" NOT NULL,
  rules  text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, number)
);
INSERT INTO edition_of_tenant (tenant, number, at, by, rules)
SELECT 'default', number, at, by, rules FROM edition;
DROP TABLE edition;
ALTER TABLE edition_of_tenant RENAME TO edition;

-- Which rule of a tenant let a change pass.
CREATE TABLE ruled_of_tenant (
  tenant text COLLATE "C" NOT NULL,
  rule   text COLLATE "C" NOT NULL,
  change text COLLATE "C" NOT NULL,
  agent  text COLLATE "C" NOT NULL,
  "user"   text COLLATE "C",
  PRIMARY KEY (tenant, rule, change)
);
INSERT INTO ruled_of_tenant (tenant, rule, change, agent, "user")
SELECT tenant, rule, change, agent, "user" FROM ruled;
DROP TABLE ruled;
ALTER TABLE ruled_of_tenant RENAME TO ruled;
