"""The doors: HTTP, MCP and the console, all leading through the same dispatch."""
