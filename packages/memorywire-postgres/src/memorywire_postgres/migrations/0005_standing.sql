-- The memories that hold whatever is asked (`model.query.STANDING`): every context reads them.
CREATE INDEX version_standing ON version (tenant, agent, id) WHERE ended IS NULL AND (
  strpos((facts -> 'metadata')::text, '"constraint"') > 0 OR strpos((facts -> 'metadata')::text, '"pinned"') > 0
  OR strpos((facts -> 'tags')::text, '"blacklist"') > 0 OR strpos((facts -> 'tags')::text, '"do"') > 0
  OR strpos((facts -> 'tags')::text, '"know"') > 0
);
