"""What is written down about memory and is not memory: the ledger, proposals, debts, rules, recalls."""
