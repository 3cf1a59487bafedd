"""The commands `serve`, `mcp` and `webhook`, and the demo data of `serve --demo`."""
