-- Who may come in through a door. What somebody may do is in `body`; a revoked operator stays, so that
-- taking the last one away does not open the door for everybody.
CREATE TABLE operator (
  name       text COLLATE "C" PRIMARY KEY,
  body       text COLLATE "C" NOT NULL,
  revoked_at bigint
);

-- Tokens, of which only a keyed hash is kept. `id` is the public half, by which the row is found.
CREATE TABLE token (
  id         text COLLATE "C" PRIMARY KEY,
  operator   text COLLATE "C" NOT NULL REFERENCES operator (name),
  hash       bytea NOT NULL CHECK (length(hash) = 32),
  made_at    bigint NOT NULL,
  expires_at bigint,
  used_at    bigint,
  revoked_at bigint
);

CREATE INDEX token_operator ON token (operator);

-- The key of the hashes: tables of hashes made elsewhere are of no use here.
CREATE TABLE token_key (
  one bigint PRIMARY KEY CHECK (one = 1),
  key bytea NOT NULL CHECK (length(key) = 32)
);

-- Addresses that are told of events: `position` is the last entry of the ledger each was told of.
CREATE TABLE webhook (
  id       text COLLATE "C" PRIMARY KEY,
  url      text COLLATE "C" NOT NULL,
  secret   text COLLATE "C" NOT NULL,
  tenant   text COLLATE "C" NOT NULL,
  agents   text COLLATE "C" NOT NULL,
  made_at  bigint NOT NULL,
  position bigint NOT NULL,
  tries    bigint NOT NULL DEFAULT 0,
  due_at   bigint NOT NULL DEFAULT 0,
  error    text COLLATE "C"
);

-- Events that an address did not take, however often it was tried.
CREATE TABLE dead_letter (
  webhook text COLLATE "C" NOT NULL,
  seq     bigint NOT NULL,
  at      bigint NOT NULL,
  error   text COLLATE "C" NOT NULL,
  PRIMARY KEY (webhook, seq)
);
