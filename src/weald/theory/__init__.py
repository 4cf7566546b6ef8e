"""Ensemble theory: closed-form results, and estimates of the quantities they depend on."""

from weald.theory.bagging import bagged_variance, left_out_share
from weald.theory.boosting import edges, training_error_bound
from weald.theory.bootstrap_error import error_632, error_632_from_members, error_632plus
from weald.theory.correlation import (
    correlated_error,
    error_correlation,
    error_correlation_from_members,
)
from weald.theory.decomposition import bias_variance
from weald.theory.pairwise import diversity
from weald.theory.validation import cross_validate
from weald.theory.voting import majority_vote_accuracy

__all__ = [
    "bagged_variance",
    "bias_variance",
    "correlated_error",
    "cross_validate",
    "diversity",
    "edges",
    "error_632",
    "error_632_from_members",
    "error_632plus",
    "error_correlation",
    "error_correlation_from_members",
    "left_out_share",
    "majority_vote_accuracy",
    "training_error_bound",
]
