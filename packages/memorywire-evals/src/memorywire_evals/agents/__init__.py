"""A coding agent on tasks that build on each other: with our plugin, with its own memory, and without."""
