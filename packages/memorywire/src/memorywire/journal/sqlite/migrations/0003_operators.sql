-- Who may come in through a door. What somebody may do is in `body`; a revoked operator stays, so that
-- taking the last one away does not open the door for everybody.
CREATE TABLE operator (
  name       TEXT PRIMARY KEY,
  body       TEXT NOT NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- Tokens, of which only a keyed hash is kept. `id` is the public half, by which the row is found.
CREATE TABLE token (
  id         TEXT PRIMARY KEY,
  operator   TEXT NOT NULL REFERENCES operator (name),
  hash       BLOB NOT NULL CHECK (length(hash) = 32),
  made_at    INTEGER NOT NULL,
  expires_at INTEGER,
  used_at    INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX token_operator ON token (operator);

-- The key of the hashes: tables of hashes made elsewhere are of no use here.
CREATE TABLE token_key (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;

-- Addresses that are told of events: `position` is the last entry of the ledger each was told of.
CREATE TABLE webhook (
  id       TEXT PRIMARY KEY,
  url      TEXT NOT NULL,
  secret   TEXT NOT NULL,
  tenant   TEXT NOT NULL,
  agents   TEXT NOT NULL,
  made_at  INTEGER NOT NULL,
  position INTEGER NOT NULL,
  tries    INTEGER NOT NULL DEFAULT 0,
  due_at   INTEGER NOT NULL DEFAULT 0,
  error    TEXT
) STRICT, WITHOUT ROWID;

-- Events that an address did not take, however often it was tried.
CREATE TABLE dead_letter (
  webhook TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  error   TEXT NOT NULL,
  PRIMARY KEY (webhook, seq)
) STRICT, WITHOUT ROWID;
