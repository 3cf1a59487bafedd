-- What only Postgres needs: functions for the statements, guards of the tables, locks.

-- name: lock_tables
SELECT pg_advisory_xact_lock(hashtext(current_schema()), 1784640114);

-- Entries have numbers without gaps, so a transaction that appends waits for the one before it.

-- name: lock_ledger
SELECT pg_advisory_xact_lock(hashtext(current_schema()), 1819042149);

-- name: see_tenant
SELECT set_config('memorywire.tenant', %(tenant)s, true);

-- name: see_all_tenants
SELECT set_config('memorywire.audit', 'on', true);

-- name: prelude
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
