"""AdaBoost for classification (half-log, log, M1, SAMME) and regression (R2)."""
