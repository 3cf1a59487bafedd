"""Moves memories: bundles, imports and exports of other formats, and moves between stores."""
