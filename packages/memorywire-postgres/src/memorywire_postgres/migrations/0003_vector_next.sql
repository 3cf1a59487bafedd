-- The vector of another embedding space, while a re-embedding is under way: a column of its own, so that
-- what is erased meanwhile takes it along, and so that a new space takes over by a change of names.
ALTER TABLE version ADD COLUMN vector_next halfvec;
DROP TABLE IF EXISTS reembedding;
