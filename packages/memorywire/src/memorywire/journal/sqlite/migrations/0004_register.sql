-- Which memories there are, and what they say, when none of the stores keeps that beside the journal: what a
-- store returns is held against this. An erased memory has no digest, and never comes back.
CREATE TABLE register (
  tenant  TEXT NOT NULL,
  id      TEXT NOT NULL,
  agent   TEXT NOT NULL,
  user    TEXT,
  version INTEGER NOT NULL,
  digest  TEXT,
  live    INTEGER NOT NULL CHECK (live IN (0, 1)),
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
