-- The queries that are still kept, by age: they are dropped after a while.
CREATE INDEX recalled_query ON recalled (at) WHERE query IS NOT NULL;
