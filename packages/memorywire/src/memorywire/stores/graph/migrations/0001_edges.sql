-- How memories hang together: derived from their versions, and made again when it is missing.

-- `told` is 'record' for what the current version of `source` says, 'end' for what ended `target`.
CREATE TABLE graph_edge (
  tenant TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT,
  source TEXT NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  told TEXT NOT NULL,
  PRIMARY KEY (tenant, source, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_target ON graph_edge (tenant, target);

-- Whom or what a current memory names, as a hash from which the name cannot be read back.
CREATE TABLE graph_name (
  tenant TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT,
  name INTEGER NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (tenant, agent, name, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_named ON graph_name (tenant, id);
