"""Benchmarks of speed, side by side with a reference design."""
