"""Search: embedding, ranking, admission and rendering of memories; pure functions where possible."""
