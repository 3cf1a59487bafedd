-- Which user an entry of the ledger is about. An entry holds `mark`, a salted digest of the user's id, and never
-- the id itself. When everything of a user is erased, the row goes, and the mark says nothing about anybody.
CREATE TABLE ledger_person (
  mark   text COLLATE "C" PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  "user"   text COLLATE "C" NOT NULL,
  salt   bytea NOT NULL,
  UNIQUE (tenant, "user")
);

-- The salt of the digest that the ledger holds of a row outside of the memories: of a proposal, an edition of the
-- rules, an operator, a token, a webhook or a definition. `seq` is the newest entry that has such a digest.
CREATE TABLE ledger_state (
  kind text COLLATE "C" NOT NULL,
  key  text COLLATE "C" NOT NULL,
  seq  bigint NOT NULL REFERENCES ledger (seq),
  salt bytea NOT NULL,
  PRIMARY KEY (kind, key)
);

-- How far the state was compared with the ledger, and when.
CREATE TABLE state_verified (
  one  bigint PRIMARY KEY CHECK (one = 1),
  seq  bigint NOT NULL,
  at   bigint NOT NULL,
  full_at bigint NOT NULL,
  differences bigint NOT NULL
);
