-- What was done, in order, one canonical JSON text a row. `chain` binds each row to all before it.
-- The other columns are read out of the text, so that none of them can disagree with it.
CREATE TABLE ledger (
  seq       INTEGER PRIMARY KEY CHECK (seq > 0),
  body      TEXT NOT NULL,
  chain     BLOB NOT NULL CHECK (length(chain) = 32),
  at        INTEGER AS (body ->> '$.at'),
  operation TEXT AS (body ->> '$.operation'),
  kind      TEXT AS (body ->> '$.kind'),
  tenant    TEXT AS (body ->> '$.tenant'),
  agent     TEXT AS (body ->> '$.agent'),
  user      TEXT AS (body ->> '$.user'),
  actor     TEXT AS (body ->> '$.actor'),
  subject   TEXT AS (body ->> '$.subject')
) STRICT;

CREATE INDEX ledger_subject ON ledger (subject) WHERE subject IS NOT NULL;

-- The salt of every digest the ledger holds. Without its salt a digest says nothing about the content:
-- a hard delete takes the salt and leaves the row, and the chain still holds.
CREATE TABLE ledger_salt (
  tenant  TEXT NOT NULL,
  memory  TEXT NOT NULL,
  version INTEGER NOT NULL,
  seq     INTEGER NOT NULL REFERENCES ledger (seq),
  salt    BLOB,
  PRIMARY KEY (tenant, memory, version, seq)
) STRICT, WITHOUT ROWID;

-- The Merkle tree's right edge at the last checkpoint, so that the next one reads only newer rows.
CREATE TABLE ledger_edge (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  size  INTEGER NOT NULL,
  chain BLOB NOT NULL,
  nodes BLOB NOT NULL
) STRICT;

-- Guards against mistakes; what somebody does who removes them is what `audit verify` finds.
-- The first also stops INSERT OR REPLACE, which deletes without asking the others.
CREATE TRIGGER ledger_grows BEFORE INSERT ON ledger
WHEN new.seq IS NOT (SELECT IFNULL(max(seq), 0) + 1 FROM ledger)
BEGIN SELECT RAISE(ABORT, 'the ledger grows only at its end'); END;

CREATE TRIGGER ledger_stays BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'an entry of the ledger is never changed'); END;

CREATE TRIGGER ledger_keeps BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'an entry of the ledger is never deleted'); END;

CREATE TRIGGER ledger_salt_stays BEFORE UPDATE ON ledger_salt
WHEN new.salt IS NOT NULL OR new.seq IS NOT old.seq OR new.version IS NOT old.version
  OR new.memory IS NOT old.memory OR new.tenant IS NOT old.tenant
BEGIN SELECT RAISE(ABORT, 'a salt is never changed, only taken away'); END;
