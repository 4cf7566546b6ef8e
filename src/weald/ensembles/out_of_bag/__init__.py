"""Out-of-bag predictions and errors, and prediction intervals and sets computed from them."""
