"""What threads and event loops need: a thread pool, a blocking portal, checks of event-loop affinity."""
