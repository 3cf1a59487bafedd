-- Changes that wait for a person. No store knows of them. `request` and `body` are what was asked and the
-- change it would make; both are NULL once what they say was erased.
CREATE TABLE proposal (
  position   INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  tenant     TEXT NOT NULL,
  agent      TEXT NOT NULL,
  user       TEXT,
  state      TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  batch      TEXT,
  key        TEXT,
  digest     TEXT,
  expires_at INTEGER,
  body       TEXT NOT NULL,
  plan       TEXT
) STRICT;

CREATE INDEX proposal_waiting ON proposal (tenant, agent, position) WHERE state IN ('pending', 'stale');
CREATE INDEX proposal_scope ON proposal (tenant, agent, position);
CREATE INDEX proposal_key ON proposal (tenant, agent, key) WHERE key IS NOT NULL;
CREATE INDEX proposal_digest ON proposal (tenant, agent, digest)
  WHERE digest IS NOT NULL AND state IN ('pending', 'stale');

-- Which memories a proposal would touch: what an erase must find.
CREATE TABLE proposal_memory (
  tenant   TEXT NOT NULL,
  memory   TEXT NOT NULL,
  proposal TEXT NOT NULL,
  PRIMARY KEY (tenant, memory, proposal)
) STRICT, WITHOUT ROWID;

-- Changes that a store has still to write, in the order they must be written.
CREATE TABLE debt (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  store    TEXT NOT NULL,
  change   TEXT NOT NULL,
  at       INTEGER NOT NULL,
  tries    INTEGER NOT NULL,
  due_at   INTEGER NOT NULL,
  error    TEXT,
  body     TEXT NOT NULL,
  UNIQUE (store, change)
) STRICT;

-- Every edition of the rules that people gave; the newest is in force.
CREATE TABLE edition (
  number INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  by     TEXT NOT NULL,
  rules  TEXT NOT NULL
) STRICT;

-- Which rule let a change pass, so that what a rule did can be taken back as a set.
CREATE TABLE ruled (
  rule   TEXT NOT NULL,
  change TEXT NOT NULL,
  tenant TEXT NOT NULL,
  agent  TEXT NOT NULL,
  user   TEXT,
  PRIMARY KEY (rule, change)
) STRICT, WITHOUT ROWID;

-- What each recall answered. The query is NULL once a memory it found was erased.
CREATE TABLE recalled (
  id      TEXT PRIMARY KEY,
  tenant  TEXT NOT NULL,
  agent   TEXT NOT NULL,
  user    TEXT,
  at      INTEGER NOT NULL,
  caller  TEXT NOT NULL,
  verdict TEXT NOT NULL,
  count   INTEGER NOT NULL,
  query   TEXT,
  hits    TEXT NOT NULL,
  details TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX recalled_at ON recalled (tenant, agent, at);
