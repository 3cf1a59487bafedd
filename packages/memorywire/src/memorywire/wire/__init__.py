"""The wire format: validates and decodes requests, encodes answers."""
