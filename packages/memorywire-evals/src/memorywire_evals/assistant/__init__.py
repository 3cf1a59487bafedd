"""What an assistant needs of its memory: the sets `reading`, `tasks` and `facts`, and their measures."""
