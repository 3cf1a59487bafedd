"""An OpenWOP host: runs, and snapshots of memory as of the start of a run."""
