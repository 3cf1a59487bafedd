-- Conversations that wait to be read for facts. `turns` is NULL once they were, or were given up.
-- `facts` are the ids of what came of it. Whoever moves `due_at` has the row to itself until then.
CREATE TABLE ingest (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT NOT NULL UNIQUE,
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  user     TEXT,
  caller   TEXT NOT NULL,
  at       INTEGER NOT NULL,
  state    TEXT NOT NULL,
  tries    INTEGER NOT NULL,
  due_at   INTEGER NOT NULL,
  error    TEXT,
  turns    TEXT,
  facts    TEXT NOT NULL
) STRICT;

CREATE INDEX ingest_waiting ON ingest (due_at) WHERE state = 'pending';
CREATE INDEX ingest_ended ON ingest (at) WHERE state <> 'pending';

-- Definitions of backends: `digest` is the SHA-256 of the canonical text, so an edition is never changed,
-- only followed by another of its name, or retired.
CREATE TABLE definition (
  tenant     TEXT NOT NULL,
  name       TEXT NOT NULL,
  edition    INTEGER NOT NULL,
  digest     TEXT NOT NULL,
  parent     TEXT,
  body       TEXT NOT NULL,
  made_at    INTEGER NOT NULL,
  made_by    TEXT NOT NULL,
  retired_at INTEGER,
  PRIMARY KEY (tenant, name, edition)
) STRICT, WITHOUT ROWID;

CREATE INDEX definition_digest ON definition (tenant, digest);

-- Which backend keeps an agent's memories.
CREATE TABLE binding (
  tenant  TEXT NOT NULL,
  agent   TEXT NOT NULL,
  digest  TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  made_by TEXT NOT NULL,
  PRIMARY KEY (tenant, agent)
) STRICT, WITHOUT ROWID;
