"""Runtime support: files, HTTP, a thread pool, a blocking portal, checks of event-loop affinity."""
