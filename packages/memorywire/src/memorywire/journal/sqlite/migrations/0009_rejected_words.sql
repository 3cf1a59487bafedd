-- Words that a person rejected, as keyed digests: what says them again is held.
CREATE TABLE rejected_words (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant   TEXT NOT NULL,
  digest   BLOB NOT NULL,
  proposal TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX rejected_words_digest ON rejected_words (tenant, digest);
