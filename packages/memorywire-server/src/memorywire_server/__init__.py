"""The server: HTTP, MCP and the console, which all call the same dispatch."""
