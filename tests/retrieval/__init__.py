"""The retrieval room: pure functions over values."""
