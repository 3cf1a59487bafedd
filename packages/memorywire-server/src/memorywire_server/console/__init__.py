"""The console: web pages to review proposals and inspect memories, on the same service as the HTTP API."""
