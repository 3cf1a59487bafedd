-- Runs of an OpenWOP host. `body` says where each memory stood when the run began, and what came out.
CREATE TABLE openwop_run (
  id       text COLLATE "C" PRIMARY KEY,
  tenant   text COLLATE "C" NOT NULL,
  caller   text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  status   text COLLATE "C" NOT NULL,
  at       bigint NOT NULL,
  ended_at bigint,
  body     text COLLATE "C" NOT NULL
);

-- What a run tells, in the order it was told; never what a memory says.
CREATE TABLE openwop_event (
  run      text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  id       text COLLATE "C" NOT NULL,
  at       bigint NOT NULL,
  type     text COLLATE "C" NOT NULL,
  payload  text COLLATE "C" NOT NULL,
  PRIMARY KEY (run, sequence)
);

-- Which versions a run was shown: a replay needs every one of them.
CREATE TABLE openwop_read (
  run     text COLLATE "C" NOT NULL,
  agent   text COLLATE "C" NOT NULL,
  "user"    text COLLATE "C",
  memory  text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (run, memory, version)
);
