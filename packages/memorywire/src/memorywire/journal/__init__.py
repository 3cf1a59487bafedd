"""Records about memories: the ledger, proposals, the outbox, rules, recalls, operators."""
