"""Measures the quality of recall and the speed of memory."""
