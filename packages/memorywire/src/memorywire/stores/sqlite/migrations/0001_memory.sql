-- What this file is: the embedding space of its vectors, and debts that outlive a process.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Every mutation, in commit order: `seq` is the commit sequence. No row is ever deleted, so none is reused.
-- The versions a change began stand side by side: `puts` of them, from position `first` on.
CREATE TABLE change (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL,
  tenant      TEXT NOT NULL,
  agent       TEXT NOT NULL,
  user        TEXT,
  operation   TEXT NOT NULL,
  at          INTEGER NOT NULL,
  key         TEXT,
  fingerprint TEXT,
  reason      TEXT,
  undoes      TEXT,
  about       TEXT,
  first       INTEGER NOT NULL,
  puts        INTEGER NOT NULL,
  UNIQUE (tenant, id)
) STRICT;

CREATE UNIQUE INDEX change_key ON change (tenant, agent, key) WHERE key IS NOT NULL;
-- What changed since a commit sequence: how an in-memory index catches up, and the way into the past.
CREATE INDEX change_agent ON change (tenant, agent);
CREATE INDEX change_about ON change (tenant, about) WHERE about IS NOT NULL;

-- Every version of every record. It is current from change `began` until change `ended`.
-- Positions rise with the commit sequence, and none is reused.
-- An erased version keeps its name, numbers and sequences; everything it said is NULL.
-- The short columns come first, so that a filter rarely has to follow a row into overflow pages.
CREATE TABLE version (
  position    INTEGER PRIMARY KEY,
  tenant      TEXT NOT NULL,
  agent       TEXT NOT NULL,
  user        TEXT,
  id          TEXT NOT NULL,
  number      INTEGER NOT NULL,
  began       INTEGER NOT NULL REFERENCES change (seq),
  ended       INTEGER REFERENCES change (seq),
  reason      TEXT,
  into_id     TEXT,
  type        TEXT,
  standing    TEXT,
  confidence  REAL,
  created_at  INTEGER,
  updated_at  INTEGER,
  occurred_at INTEGER,
  expires_at  INTEGER,
  trust       TEXT,
  source      TEXT,
  session     TEXT,
  digest      BLOB,
  length      INTEGER,
  structured  INTEGER,
  tags        TEXT,
  metadata    TEXT,
  supersedes  TEXT,
  merged_from TEXT,
  derived_from TEXT,
  content     TEXT,
  vector      BLOB,
  terms       BLOB,
  UNIQUE (tenant, id, number),
  CHECK ((ended IS NULL) = (reason IS NULL)),
  CHECK (content IS NOT NULL OR ended IS NOT NULL),
  CHECK ((content IS NULL) = (terms IS NULL))
) STRICT;

-- Each index is partial, so that only a query that names its condition may use it: without statistics
-- the planner cannot tell that some of them would lead through every version an agent ever had.

-- At most one version of a record is live; pages of an agent, and of one of its users, are seeks.
CREATE UNIQUE INDEX version_live ON version (tenant, agent, id) WHERE ended IS NULL;
CREATE INDEX version_user ON version (tenant, agent, user, id) WHERE ended IS NULL AND user IS NOT NULL;
CREATE INDEX version_digest ON version (tenant, agent, digest) WHERE ended IS NULL AND digest IS NOT NULL;

-- What ended since a commit sequence: how an in-memory index catches up, and what an undo reads.
CREATE INDEX version_ended ON version (tenant, agent, ended) WHERE ended IS NOT NULL;

-- When a record was last recalled, and how often.
CREATE TABLE recall (
  tenant TEXT NOT NULL,
  id     TEXT NOT NULL,
  at     INTEGER NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Parts of an agent's search index: what its changes after `since` up to `upto` began, as far as it was current
-- after the change `seen`. A cache of `version`, which anybody may delete.
CREATE TABLE pack (
  position INTEGER PRIMARY KEY,
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  since    INTEGER NOT NULL,
  upto     INTEGER NOT NULL,
  seen     INTEGER NOT NULL,
  format   INTEGER NOT NULL,
  data     BLOB NOT NULL,
  UNIQUE (tenant, agent, since)
) STRICT;

-- Vectors of another embedding space, made beside the current ones until all are there.
CREATE TABLE reembed (
  position INTEGER NOT NULL,
  space    TEXT NOT NULL,
  vector   BLOB NOT NULL,
  PRIMARY KEY (position, space)
) STRICT, WITHOUT ROWID;

-- A version as readers see it: everything but the search index.
CREATE VIEW record AS
SELECT
  tenant, agent, user, id, number, type, standing, confidence, created_at, updated_at, occurred_at,
  expires_at, trust, source, session, structured, tags, metadata, supersedes, merged_from, derived_from, content,
  (SELECT at FROM recall WHERE recall.tenant = version.tenant AND recall.id = version.id) AS recalled_at,
  position, began, ended, reason, into_id
FROM version;
