"""What bags share: the ledger of rows left out, and the uncertainty that follows from it."""
