"""An OpenWOP host: runs, and memory as it was when a run began."""
