"""The operations: each returns a plan or a ranked answer; one `commit` judges and writes plans."""
