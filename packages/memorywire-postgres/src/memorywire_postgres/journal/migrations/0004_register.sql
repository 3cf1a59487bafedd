-- Which memories there are, and what they say, when none of the stores keeps that beside the journal: what a
-- store returns is held against this. An erased memory has no digest, and never comes back.
CREATE TABLE register (
  tenant  text COLLATE "C" NOT NULL,
  id      text COLLATE "C" NOT NULL,
  agent   text COLLATE "C" NOT NULL,
  "user"    text COLLATE "C",
  version bigint NOT NULL,
  digest  text COLLATE "C",
  live    bigint NOT NULL CHECK (live IN (0, 1)),
  PRIMARY KEY (tenant, id)
);
