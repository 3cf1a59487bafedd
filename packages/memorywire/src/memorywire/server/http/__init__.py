"""The HTTP door: the wire's operations as routes, events as a stream, health and figures beside them."""
