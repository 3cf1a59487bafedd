"""The five operations: each plans a `Change` or a ranked answer; one corridor commits."""
