"""Measures of an assistant's memory, with the sets `reading`, `tasks` and `facts`."""
