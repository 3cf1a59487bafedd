-- Statements of the journal whose Postgres form no rule gives, and what stands around them.

-- Each machine signs the ledger with a key of its own, so each knows how far it signed.

-- name: edge
SELECT size, chain, nodes FROM ledger_edge_of WHERE signer = %(signer)s;

-- name: keep_edge
INSERT INTO ledger_edge_of (signer, size, chain, nodes) VALUES (%(signer)s, %(size)s, %(chain)s, %(nodes)s)
ON CONFLICT (signer) DO UPDATE SET size = excluded.size, chain = excluded.chain, nodes = excluded.nodes
WHERE excluded.size > ledger_edge_of.size;

-- name: exposed
SELECT (SELECT coalesce(max(seq), 0) FROM ledger) - edge.size,
  (SELECT at FROM ledger WHERE seq = edge.size + 1)
FROM (SELECT coalesce(max(size), 0) AS size FROM ledger_edge_of WHERE signer = %(signer)s) AS edge;

-- name: proposals_waiting
SELECT count(*), (
  SELECT extract_of(body, '$.at')::bigint FROM proposal WHERE state IN ('pending', 'stale') ORDER BY position LIMIT 1
) FROM proposal WHERE state IN ('pending', 'stale');

-- name: is_there
SELECT 1;

-- The server's own log and files are the server's to scrub: docs/how-to/postgres.md says how.

-- name: owe_scrub
SELECT 1;

-- name: has_tables
SELECT to_regclass('journal_version') IS NOT NULL;

-- Entries have numbers without gaps, so whoever appends waits for whoever appended before.

-- name: lock_ledger
SELECT pg_advisory_xact_lock(hashtext(current_schema()), 1819042149);

-- name: lock_tables
SELECT pg_advisory_xact_lock(hashtext(current_schema()), 1784640114);

-- name: speak_for
SELECT set_config('memorywire.tenant', %(tenant)s, true);

-- name: prelude
CREATE OR REPLACE VIEW tables_here AS
SELECT relname AS name, 'table' AS type FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r';

-- The JSON of a text, with its escaped NULs, which jsonb has not, as this store keeps NULs.
CREATE OR REPLACE FUNCTION plain_json(body text) RETURNS jsonb IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(body, '\u0001', '\u0001\u0002'), '\u0000', '\u0001\u0001')::jsonb;

CREATE OR REPLACE FUNCTION told(body text, field text) RETURNS text IMMUTABLE STRICT PARALLEL SAFE
RETURN plain_json(body) ->> field;

CREATE OR REPLACE FUNCTION extract_of(body text, path text) RETURNS text IMMUTABLE PARALLEL SAFE
RETURN jsonb_path_query_first(plain_json(body), path::jsonpath) #>> '{}';

CREATE OR REPLACE FUNCTION length_of(body text, path text) RETURNS integer IMMUTABLE PARALLEL SAFE
RETURN jsonb_array_length(jsonb_path_query_first(plain_json(body), path::jsonpath));

CREATE OR REPLACE FUNCTION says(body text, part text) RETURNS boolean IMMUTABLE PARALLEL SAFE
RETURN strpos(body, part) > 0;

-- name: guards
CREATE TABLE IF NOT EXISTS ledger_edge_of (
  signer text PRIMARY KEY,
  size   bigint NOT NULL,
  chain  bytea NOT NULL,
  nodes  bytea NOT NULL
);

CREATE OR REPLACE FUNCTION ledger_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF new.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM ledger) THEN
      RAISE EXCEPTION 'the ledger grows only at its end';
    END IF;
    PERFORM pg_notify(TG_TABLE_SCHEMA || '_ledger', new.seq::text);
    RETURN new;
  END IF;
  RAISE EXCEPTION 'an entry of the ledger is never changed or deleted';
END
$$;
CREATE OR REPLACE FUNCTION ledger_salt_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF new.salt IS NOT NULL OR (new.seq, new.version, new.memory, new.tenant)
      IS DISTINCT FROM (old.seq, old.version, old.memory, old.tenant) THEN
    RAISE EXCEPTION 'a salt is never changed, only taken away';
  END IF;
  RETURN new;
END
$$;
CREATE OR REPLACE TRIGGER ledger_guarded BEFORE INSERT OR UPDATE OR DELETE ON ledger
FOR EACH ROW EXECUTE FUNCTION ledger_guard();
CREATE OR REPLACE TRIGGER ledger_salt_guarded BEFORE UPDATE ON ledger_salt
FOR EACH ROW EXECUTE FUNCTION ledger_salt_guard();

-- A transaction that names a tenant sees that tenant's part of the journal; only the journal sees all of it.
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN
    SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant'
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND NOT relrowsecurity
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY one_tenant ON %I USING (current_setting(''memorywire.journal'', true) = ''on'''
      ' OR tenant = nullif(current_setting(''memorywire.tenant'', true), ''''))', name);
  END LOOP;
END
$$;

-- The memories call the column of the user otherwise.

-- name: owners_of_memories
SELECT DISTINCT user_id FROM version WHERE tenant = %(tenant)s
  AND id IN (SELECT json_array_elements_text(%(ids)s::json)) AND user_id IS NOT NULL;

-- name: left_live
SELECT count(*) FROM (
  SELECT 1 FROM version
  WHERE tenant = %(tenant)s AND agent = %(agent)s AND user_id = %(user)s AND ended IS NULL
    AND user_id IS NOT NULL LIMIT 1
) AS part;

-- name: left_memories
SELECT count(*) FROM (
  SELECT 1 FROM version WHERE tenant = %(tenant)s AND user_id = %(user)s AND content IS NOT NULL LIMIT 1
) AS part;

-- name: rename_versions
UPDATE version SET user_id = %(mark)s WHERE tenant = %(tenant)s AND user_id = %(user)s;

-- name: rename_changes
UPDATE change SET user_id = %(mark)s,
  key = CASE WHEN says(key, %(user)s) THEN NULL ELSE key END,
  reason = CASE WHEN says(reason, %(user)s) THEN NULL ELSE reason END
WHERE tenant = %(tenant)s AND user_id = %(user)s;

-- Memories are compared with the ledger in the embedded store alone: here they have other columns.

-- name: compares_memories
SELECT 0;

-- name: all_changes
SELECT NULL WHERE false;

-- name: change_of
SELECT NULL WHERE false;

-- name: all_versions
SELECT NULL WHERE false;

-- name: versions_of
SELECT NULL WHERE false;
