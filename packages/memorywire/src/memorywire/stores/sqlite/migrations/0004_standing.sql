-- The memories that hold whatever is asked (`model.query.STANDING`): every context reads them.
CREATE INDEX version_standing ON version (tenant, agent, id) WHERE ended IS NULL AND (
  instr(metadata, '"constraint"') OR instr(metadata, '"pinned"') OR instr(tags, '"blacklist"')
  OR instr(tags, '"do"') OR instr(tags, '"know"')
);
