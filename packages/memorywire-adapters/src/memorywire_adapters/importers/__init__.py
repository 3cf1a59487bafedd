"""Importers of other products' files, APIs and databases, registered under `memorywire.importers`."""
