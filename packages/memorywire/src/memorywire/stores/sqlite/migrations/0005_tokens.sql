-- The directions of the tokens of a version's text, which a search reads for its best candidates only: apart, so
-- that rows stay short. A version that has none, as those of earlier releases, ranks by the rest.
CREATE TABLE version_tokens (
  position INTEGER PRIMARY KEY,
  tokens   BLOB NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
ALTER TABLE reembed ADD COLUMN tokens BLOB;
