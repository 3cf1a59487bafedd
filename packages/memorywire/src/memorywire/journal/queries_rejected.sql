-- name: reject_words
INSERT INTO rejected_words (tenant, digest, proposal) VALUES (:tenant, :digest, :proposal) ON CONFLICT DO NOTHING;

-- name: accept_words
DELETE FROM rejected_words WHERE tenant = :tenant AND digest = :digest;

-- What a rejected proposal said is gone once it was erased; so is the digest of it.

-- name: erase_rejected_words
DELETE FROM rejected_words WHERE tenant = :tenant
  AND proposal IN (SELECT id FROM proposal WHERE tenant = :tenant AND plan IS NULL);

-- name: rejected_words_mark
SELECT count(*), IFNULL(max(position), 0) FROM rejected_words;

-- name: rejected_words
SELECT digest FROM rejected_words;
