"""Boosting by gradients: the flagship, and gradient boosting with any loss and learner."""
