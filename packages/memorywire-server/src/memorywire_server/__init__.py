"""The server: HTTP, MCP and the console, which all use the same dispatch."""
