"""The command line: `weald train table.csv --target column`, or `python -m weald`."""
