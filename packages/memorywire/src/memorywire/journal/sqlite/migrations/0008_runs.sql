-- Runs of an OpenWOP host. `body` says where each memory stood when the run began, and what came out.
CREATE TABLE openwop_run (
  id       TEXT PRIMARY KEY,
  tenant   TEXT NOT NULL,
  caller   TEXT NOT NULL,
  workflow TEXT NOT NULL,
  status   TEXT NOT NULL,
  at       INTEGER NOT NULL,
  ended_at INTEGER,
  body     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a run tells, in the order it was told; never what a memory says.
CREATE TABLE openwop_event (
  run      TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  id       TEXT NOT NULL,
  at       INTEGER NOT NULL,
  type     TEXT NOT NULL,
  payload  TEXT NOT NULL,
  PRIMARY KEY (run, sequence)
) STRICT, WITHOUT ROWID;

-- Which versions a run was shown: a replay needs every one of them.
CREATE TABLE openwop_read (
  run     TEXT NOT NULL,
  agent   TEXT NOT NULL,
  user    TEXT,
  memory  TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (run, memory, version)
) STRICT, WITHOUT ROWID;
