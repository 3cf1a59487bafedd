"""Memory where agents already are: coding agents, and the frameworks agents are written in."""
