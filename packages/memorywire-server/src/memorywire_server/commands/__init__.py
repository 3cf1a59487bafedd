"""The commands `serve`, `mcp`, `operator` and `webhook`, and the demo data of `serve --demo`."""
