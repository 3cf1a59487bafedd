-- A comparison of the memories with the ledger reads those of all tenants: a row that was planted may be in one
-- that the ledger does not know. It says so in its transaction, which can then read them and write none.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['change', 'version', 'posting'] LOOP
    EXECUTE format(
      'CREATE POLICY audit ON %I FOR SELECT USING (current_setting(''memorywire.audit'', true) = ''on'')', name);
  END LOOP;
END
$$;
