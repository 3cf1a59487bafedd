"""The HTTP server: a route for each operation, a stream of events, health checks and metrics."""
