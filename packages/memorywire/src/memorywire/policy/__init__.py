"""Policy: decides which requests are allowed, and redacts secrets and personal data."""
