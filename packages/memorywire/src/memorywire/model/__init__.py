"""The values that all packages share: records, scopes, filters, changes, receipts, errors."""
