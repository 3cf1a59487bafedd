"""Commands that this package adds to `memorywire`."""
