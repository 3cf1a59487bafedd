"""Memory on the move: bundles, imports, migrations between stores, and what other products left behind."""
