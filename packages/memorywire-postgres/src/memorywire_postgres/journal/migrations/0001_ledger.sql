-- What was done, in order, one canonical JSON text a row. `chain` binds each row to all before it.
-- The other columns are read out of the text, so that none of them can disagree with it.
CREATE TABLE ledger (
  seq       bigint PRIMARY KEY CHECK (seq > 0),
  body      text COLLATE "C" NOT NULL,
  chain     bytea NOT NULL CHECK (length(chain) = 32),
  at        bigint GENERATED ALWAYS AS (told(body, 'at')::bigint) STORED,
  operation text COLLATE "C" GENERATED ALWAYS AS (told(body, 'operation')::text) STORED,
  kind      text COLLATE "C" GENERATED ALWAYS AS (told(body, 'kind')::text) STORED,
  tenant    text COLLATE "C" GENERATED ALWAYS AS (told(body, 'tenant')::text) STORED,
  agent     text COLLATE "C" GENERATED ALWAYS AS (told(body, 'agent')::text) STORED,
  "user"    text COLLATE "C" GENERATED ALWAYS AS (told(body, 'user')::text) STORED,
  actor     text COLLATE "C" GENERATED ALWAYS AS (told(body, 'actor')::text) STORED,
  subject   text COLLATE "C" GENERATED ALWAYS AS (told(body, 'subject')::text) STORED
);

CREATE INDEX ledger_subject ON ledger (subject) WHERE subject IS NOT NULL;

-- The salt of every digest the ledger holds. Without its salt a digest says nothing about the content:
-- a hard delete takes the salt and leaves the row, and the chain still holds.
CREATE TABLE ledger_salt (
  tenant  text COLLATE "C" NOT NULL,
  memory  text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  seq     bigint NOT NULL REFERENCES ledger (seq),
  salt    bytea,
  PRIMARY KEY (tenant, memory, version, seq)
);

-- The Merkle tree's right edge at the last checkpoint, so that the next one reads only newer rows.
CREATE TABLE ledger_edge (
  one   bigint PRIMARY KEY CHECK (one = 1),
  size  bigint NOT NULL,
  chain bytea NOT NULL,
  nodes bytea NOT NULL
);
