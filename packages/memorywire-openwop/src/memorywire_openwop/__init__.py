"""An OpenWOP host over the engine: runs, and memories as they stood when a run began."""
