-- Which user an entry of the ledger is about. An entry holds `mark`, a salted digest of the user's id, and never
-- the id itself. When everything of a user is erased, the row goes, and the mark says nothing about anybody.
CREATE TABLE ledger_person (
  mark   TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  user   TEXT NOT NULL,
  salt   BLOB NOT NULL,
  UNIQUE (tenant, user)
) STRICT, WITHOUT ROWID;

-- The salt of the digest that the ledger holds of a row outside of the memories: of a proposal, an edition of the
-- rules, an operator, a token, a webhook or a definition. `seq` is the newest entry that has such a digest.
CREATE TABLE ledger_state (
  kind TEXT NOT NULL,
  key  TEXT NOT NULL,
  seq  INTEGER NOT NULL REFERENCES ledger (seq),
  salt BLOB NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- How far the state was compared with the ledger, and when.
CREATE TABLE state_verified (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  seq  INTEGER NOT NULL,
  at   INTEGER NOT NULL,
  full_at INTEGER NOT NULL,
  differences INTEGER NOT NULL
) STRICT;
