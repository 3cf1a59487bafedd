"""Measuring what memory is worth: how well it recalls, and how fast it is."""
