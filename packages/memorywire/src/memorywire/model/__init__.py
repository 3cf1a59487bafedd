"""The values every other room speaks in: memories, scopes, filters, changes, receipts, errors."""
