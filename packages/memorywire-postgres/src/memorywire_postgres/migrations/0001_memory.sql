-- Text is compared byte by byte everywhere, which for UTF-8 is the order of its characters.

-- One row for each agent: writers of an agent take turns by locking it, so an agent's commit sequences
-- grow in the order of its commits. It also knows how many memories are live and how many words they have.
CREATE TABLE agent (
  tenant text COLLATE "C" NOT NULL,
  agent  text COLLATE "C" NOT NULL,
  live   bigint NOT NULL DEFAULT 0,
  words  bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, agent)
) WITH (fillfactor = 50);

-- Every mutation; `seq` is its commit sequence.
CREATE SEQUENCE sequence;
CREATE TABLE change (
  seq         bigint NOT NULL UNIQUE,
  id          text COLLATE "C" NOT NULL,
  tenant      text COLLATE "C" NOT NULL,
  agent       text COLLATE "C" NOT NULL,
  user_id     text COLLATE "C",
  operation   text COLLATE "C" NOT NULL,
  at          bigint NOT NULL,
  key         text COLLATE "C",
  fingerprint text COLLATE "C",
  reason      text COLLATE "C",
  undoes      text COLLATE "C",
  about       text COLLATE "C",
  PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX change_key ON change (tenant, agent, key) WHERE key IS NOT NULL;
CREATE INDEX change_agent ON change (tenant, agent, seq);
CREATE INDEX change_about ON change (tenant, about) WHERE about IS NOT NULL;

-- Every version of every record. It is current from change `began` until change `ended`.
-- An erased version keeps its name, numbers and sequences; everything it said is NULL.
-- `body` has the fields that have no column, exactly as they were given; `facts` has those that a filter
-- may name, in a form that SQL can look into. `terms` are the keys of its entries in `posting`. What a search
-- looks at comes first, because a row is read from its beginning.
CREATE TABLE version (
  position     bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  began        bigint NOT NULL,
  ended        bigint,
  number       integer NOT NULL,
  length       integer,
  created_at   bigint,
  occurred_at  bigint,
  expires_at   bigint,
  moment       bigint GENERATED ALWAYS AS (coalesce(occurred_at, created_at)) STORED,
  confidence   double precision,
  machine_said boolean,
  structured   boolean,
  tenant       text COLLATE "C" NOT NULL,
  agent        text COLLATE "C" NOT NULL,
  user_id      text COLLATE "C",
  id           text COLLATE "C" NOT NULL,
  standing     text COLLATE "C",
  session      text COLLATE "C",
  vector       halfvec({dimension}),
  type         text COLLATE "C",
  reason       text COLLATE "C",
  into_id      text COLLATE "C",
  digest       bytea,
  terms        bigint[],
  facts        jsonb,
  body         text COLLATE "C",
  content      text COLLATE "C",
  PRIMARY KEY (tenant, id, number),
  CHECK ((ended IS NULL) = (reason IS NULL)),
  CHECK (content IS NOT NULL OR ended IS NOT NULL)
);

-- At most one version of a record is live; pages of an agent, and of one of its users, are seeks.
CREATE UNIQUE INDEX version_live ON version (tenant, agent, id) WHERE ended IS NULL;
CREATE INDEX version_user ON version (tenant, agent, user_id, id) WHERE ended IS NULL AND user_id IS NOT NULL;
CREATE INDEX version_digest ON version (tenant, agent, digest) WHERE ended IS NULL;
CREATE INDEX version_session ON version (tenant, agent, session, moment, id)
  WHERE ended IS NULL AND session IS NOT NULL;

-- What a change did, and what was current after it. Partial, so that only a query that names the condition
-- may use it: it leads through every version an agent ever had.
CREATE INDEX version_began ON version (tenant, agent, began) WHERE began > 0;
CREATE INDEX version_ended ON version (tenant, agent, ended) WHERE ended IS NOT NULL;

-- Nearest vectors, for scopes too large to look at everything. The engine indexes at most 4,000 dimensions;
-- a vector that fits stays in its row, because a scan that fetches each from elsewhere is many times slower.
DO $$
BEGIN
  IF {dimension} <= 4000 THEN
    CREATE INDEX version_nearest ON version USING hnsw (vector halfvec_ip_ops) WHERE ended IS NULL;
  END IF;
  IF {dimension} <= 2000 THEN
    ALTER TABLE version ALTER COLUMN vector SET STORAGE PLAIN;
  END IF;
END
$$;

-- Which versions have a term, and how often. A key is made of tenant, agent and term, so that the entries of
-- an agent lie together and the word cannot be read back. A table and not an inverted index on an array:
-- under row-level security the engine uses an index only for operators that leak nothing, and overlap of
-- arrays is not one of them.
CREATE TABLE posting (
  key      bigint NOT NULL,
  position bigint NOT NULL,
  count    integer NOT NULL,
  tenant   text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, key, position) INCLUDE (count)
);

-- When a record was last recalled, and how often.
CREATE TABLE recall (
  tenant text COLLATE "C" NOT NULL,
  id     text COLLATE "C" NOT NULL,
  at     bigint NOT NULL,
  count  bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- Whether a metadata value equals a wanted one that is no list; a list equals each of its elements.
CREATE FUNCTION has_element(actual jsonb, wanted jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  element jsonb;
BEGIN
  FOR element IN SELECT jsonb_array_elements(actual) LOOP
    IF element = wanted OR (jsonb_typeof(element) = 'array' AND has_element(element, wanted)) THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END
$$;

-- A transaction sees the tenant that it named, and nothing before it named one; the owner is no exception.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['agent', 'change', 'version', 'posting', 'recall'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY one_tenant ON %I USING (tenant = nullif(current_setting(''memorywire.tenant'', true), ''''))'
      ' WITH CHECK (tenant = nullif(current_setting(''memorywire.tenant'', true), ''''))', name);
  END LOOP;
END
$$;
