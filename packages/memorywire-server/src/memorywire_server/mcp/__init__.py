"""The MCP server (Model Context Protocol)."""
