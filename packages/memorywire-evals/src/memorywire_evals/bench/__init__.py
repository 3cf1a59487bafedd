"""Speed, measured side by side with a reference design."""
