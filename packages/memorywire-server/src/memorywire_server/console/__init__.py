"""The console: web pages to review proposals and inspect memories. It uses the same service as HTTP."""
