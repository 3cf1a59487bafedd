-- The directions of the tokens of a version's text, which a search reads for its best candidates only; and
-- those of another embedding space, while a re-embedding is under way. They do not compress.
ALTER TABLE version ADD COLUMN tokens bytea, ADD COLUMN tokens_next bytea;
ALTER TABLE version ALTER COLUMN tokens SET STORAGE EXTERNAL, ALTER COLUMN tokens_next SET STORAGE EXTERNAL;
