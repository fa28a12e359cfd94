"""The ledger: what has been spent on a data set, and what was released for it."""
