-- A webhook of a reviewer is told of held requests, with what they say, and its decisions are carried out.
ALTER TABLE webhook ADD COLUMN review INTEGER NOT NULL DEFAULT 0;
