"""The prediction service of `weald serve`: a fitted model over HTTP."""
