"""The training loop that boosting methods share, its tree learners and its observers."""
