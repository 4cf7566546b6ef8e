# Generated from cpp/bindings/ by `make stub`; not to be edited.
"""The compiled core."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy
from numpy.typing import NDArray

def usable_cores() -> int: ...
def instructions() -> str: ...
def runnable_instructions() -> list[str]: ...
def exp(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
def log(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
def log2(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
def log1p(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
def sigmoid(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
@overload
def find_cuts(
    table: NDArray[numpy.float32], mass: NDArray[numpy.int64] | None, max_bins: int, n_threads: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]: ...
@overload
def find_cuts(
    table: NDArray[numpy.float64], mass: NDArray[numpy.int64] | None, max_bins: int, n_threads: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]: ...
@overload
def apply_cuts(
    table: NDArray[numpy.float32],
    cuts: NDArray[numpy.float64],
    first: NDArray[numpy.int64],
    n_threads: int,
) -> NDArray[numpy.uint8]: ...
@overload
def apply_cuts(
    table: NDArray[numpy.float64],
    cuts: NDArray[numpy.float64],
    first: NDArray[numpy.int64],
    n_threads: int,
) -> NDArray[numpy.uint8]: ...
@overload
def apply_many_cuts(
    table: NDArray[numpy.float32], column: int, cuts: NDArray[numpy.float64], n_threads: int
) -> NDArray[numpy.uint16]: ...
@overload
def apply_many_cuts(
    table: NDArray[numpy.float64], column: int, cuts: NDArray[numpy.float64], n_threads: int
) -> NDArray[numpy.uint16]: ...
@overload
def bin_sparse(
    values: NDArray[numpy.float32],
    rows: NDArray[numpy.uint32],
    begins: NDArray[numpy.int64],
    n_rows: int,
    n_learn: int,
    mass: NDArray[numpy.int64] | None,
    max_bins: int,
    n_threads: int,
) -> tuple[
    NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.uint8], NDArray[numpy.uint8]
]: ...
@overload
def bin_sparse(
    values: NDArray[numpy.float64],
    rows: NDArray[numpy.uint32],
    begins: NDArray[numpy.int64],
    n_rows: int,
    n_learn: int,
    mass: NDArray[numpy.int64] | None,
    max_bins: int,
    n_threads: int,
) -> tuple[
    NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.uint8], NDArray[numpy.uint8]
]: ...
def empty_codes(n_rows: int, n_columns: int) -> NDArray[numpy.uint8]: ...
@overload
def apply_cuts_into(
    table: NDArray[numpy.float32],
    cuts: NDArray[numpy.float64],
    first: NDArray[numpy.int64],
    codes: NDArray[numpy.uint8],
    n_columns: int,
    begin: int,
    n_threads: int,
) -> None: ...
@overload
def apply_cuts_into(
    table: NDArray[numpy.float64],
    cuts: NDArray[numpy.float64],
    first: NDArray[numpy.int64],
    codes: NDArray[numpy.uint8],
    n_columns: int,
    begin: int,
    n_threads: int,
) -> None: ...
@overload
def add_words(
    table: NDArray[numpy.float32], first: int, words: NDArray[numpy.uint64], n_threads: int
) -> None: ...
@overload
def add_words(
    table: NDArray[numpy.float64], first: int, words: NDArray[numpy.uint64], n_threads: int
) -> None: ...
@overload
def add_sparse_words(
    values: NDArray[numpy.float32],
    rows: NDArray[numpy.uint32],
    begins: NDArray[numpy.int64],
    words: NDArray[numpy.uint64],
) -> None: ...
@overload
def add_sparse_words(
    values: NDArray[numpy.float64],
    rows: NDArray[numpy.uint32],
    begins: NDArray[numpy.int64],
    words: NDArray[numpy.uint64],
) -> None: ...
@overload
def hash_rows(
    table: NDArray[numpy.float32], target: NDArray[numpy.float64], n_threads: int
) -> NDArray[numpy.uint64]: ...
@overload
def hash_rows(
    table: NDArray[numpy.float64], target: NDArray[numpy.float64], n_threads: int
) -> NDArray[numpy.uint64]: ...
@overload
def hash_more(
    table: NDArray[numpy.float32], hashes: NDArray[numpy.uint64], n_threads: int
) -> None: ...
@overload
def hash_more(
    table: NDArray[numpy.float64], hashes: NDArray[numpy.uint64], n_threads: int
) -> None: ...
def numbered_rows(
    hashes: NDArray[numpy.uint64], weight: NDArray[numpy.float64] | None = None
) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint64]]: ...
def draw(
    hashes: NDArray[numpy.uint64], seed: int, member: int, purpose: int
) -> NDArray[numpy.uint64]: ...
def keys_of_copies(
    hashes: NDArray[numpy.uint64], numbers: NDArray[numpy.int64]
) -> NDArray[numpy.uint64]: ...
def draw_rows(
    hashes: NDArray[numpy.uint64], fraction: float, seed: int, member: int, purpose: int
) -> NDArray[numpy.uint8]: ...
def subsample(
    hashes: NDArray[numpy.uint64],
    copies: NDArray[numpy.int64] | None,
    held_out: NDArray[numpy.bool_] | None,
    fraction: float,
    seed: int,
    member: int,
    purpose: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint8]]: ...

class TreeShap:
    def __init__(
        self,
        *,
        feature: NDArray[numpy.int32],
        threshold: NDArray[numpy.float64],
        right: NDArray[numpy.int32],
        missing_left: NDArray[numpy.uint8],
        value: NDArray[numpy.float64],
        first_node: NDArray[numpy.int64],
        first_leaf: NDArray[numpy.int64],
        output: NDArray[numpy.int32],
        tree_weight: NDArray[numpy.float64],
        base_score: NDArray[numpy.float64],
        category_set: NDArray[numpy.int32],
        first_word: NDArray[numpy.int64],
        words: NDArray[numpy.uint64],
        n_columns: int,
        weight: NDArray[numpy.float64],
        player: NDArray[numpy.int32],
        n_players: int,
    ) -> None: ...
    def most_players(self) -> int: ...
    def expected(self) -> NDArray[numpy.float64]: ...
    @overload
    def values(
        self, table: NDArray[numpy.float32], outputs: Sequence[int], n_threads: int
    ) -> NDArray[numpy.float64]: ...
    @overload
    def values(
        self, table: NDArray[numpy.float64], outputs: Sequence[int], n_threads: int
    ) -> NDArray[numpy.float64]: ...
    @overload
    def interactions(
        self, table: NDArray[numpy.float32], outputs: Sequence[int], n_threads: int
    ) -> NDArray[numpy.float64]: ...
    @overload
    def interactions(
        self, table: NDArray[numpy.float64], outputs: Sequence[int], n_threads: int
    ) -> NDArray[numpy.float64]: ...

class BackgroundShap:
    def __init__(
        self,
        *,
        feature: NDArray[numpy.int32],
        threshold: NDArray[numpy.float64],
        right: NDArray[numpy.int32],
        missing_left: NDArray[numpy.uint8],
        value: NDArray[numpy.float64],
        first_node: NDArray[numpy.int64],
        first_leaf: NDArray[numpy.int64],
        output: NDArray[numpy.int32],
        tree_weight: NDArray[numpy.float64],
        base_score: NDArray[numpy.float64],
        category_set: NDArray[numpy.int32],
        first_word: NDArray[numpy.int64],
        words: NDArray[numpy.uint64],
        n_columns: int,
        player: NDArray[numpy.int32],
        n_players: int,
    ) -> None: ...
    @overload
    def values(
        self,
        table: NDArray[numpy.float32],
        background: NDArray[numpy.float64],
        outputs: Sequence[int],
        n_threads: int,
        engine: str = "automatic",
    ) -> NDArray[numpy.float64]: ...
    @overload
    def values(
        self,
        table: NDArray[numpy.float64],
        background: NDArray[numpy.float64],
        outputs: Sequence[int],
        n_threads: int,
        engine: str = "automatic",
    ) -> NDArray[numpy.float64]: ...

class RankedTable:
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float32],
        index: NDArray[numpy.int64],
        mass: NDArray[numpy.int64] | None,
        n_threads: int,
        keeps_values: bool = False,
        n_levels: Sequence[int] = [],
    ) -> None: ...
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float64],
        index: NDArray[numpy.int64],
        mass: NDArray[numpy.int64] | None,
        n_threads: int,
        keeps_values: bool = False,
        n_levels: Sequence[int] = [],
    ) -> None: ...
    def n_ranks(self) -> list[int]: ...
    def __getstate__(self) -> tuple[Any, ...]: ...
    def __setstate__(
        self,
        arg: tuple[
            NDArray[numpy.uint16] | None,
            NDArray[numpy.float32] | None,
            NDArray[numpy.float64] | None,
            NDArray[numpy.float64],
            NDArray[numpy.float64],
            NDArray[numpy.int64],
            NDArray[numpy.uint16],
            NDArray[numpy.int64],
            Sequence[int],
        ],
        /,
    ) -> None: ...

class Bootstrap:
    @overload
    def __init__(
        self,
        mass: NDArray[numpy.int64] | None,
        n_units: int,
        n_draws: int,
        seed: int,
        group_of: NDArray[numpy.int64] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        keys: NDArray[numpy.uint64],
        n_draws: int,
        seed: int,
        group_of: NDArray[numpy.int64] | None = None,
    ) -> None: ...
    def draw(self, member: int) -> NDArray[numpy.int64]: ...

class ForestParams:
    def __init__(
        self,
        *,
        criterion: str,
        seed: int,
        max_features: int,
        columns_of_tree: bool,
        random_cuts: bool,
        min_decrease: float,
        min_weight_share: float,
        max_leaf_nodes: int,
        max_depth: int,
        min_samples_split: int,
        min_samples_leaf: int,
        balances_bags: bool,
        hard_votes: bool,
        n_threads: int,
    ) -> None: ...
    def keep_monotone(self, direction: Sequence[float]) -> None: ...

class SeveralOutputs:
    def __init__(
        self,
        *,
        first_class: Sequence[int],
        values: NDArray[numpy.float64] | None,
        labels: NDArray[numpy.int32] | None,
    ) -> None: ...

def grow_forest(
    *,
    table: RankedTable,
    params: ForestParams,
    bootstrap: Bootstrap | None,
    weight: NDArray[numpy.float64] | None,
    values: NDArray[numpy.float64] | None,
    classes: NDArray[numpy.int32] | None,
    n_classes: int,
    copies: NDArray[numpy.int64] | None,
    first: int,
    n_trees: int,
    oob_sums: NDArray[numpy.float64] | None,
    oob_counts: NDArray[numpy.int32] | None,
    several: SeveralOutputs | None = None,
    oob_squares: NDArray[numpy.float64] | None = None,
) -> dict[str, NDArray[Any]]: ...

class RotationTable:
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float32],
        index: NDArray[numpy.int64],
        mass: NDArray[numpy.int64] | None,
        n_levels: NDArray[numpy.int64],
        scale: str,
        known: tuple[
            NDArray[numpy.int32],
            NDArray[numpy.float64],
            NDArray[numpy.float64],
            NDArray[numpy.int32],
            NDArray[numpy.int32],
        ]
        | None,
        n_threads: int,
    ) -> None: ...
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float64],
        index: NDArray[numpy.int64],
        mass: NDArray[numpy.int64] | None,
        n_levels: NDArray[numpy.int64],
        scale: str,
        known: tuple[
            NDArray[numpy.int32],
            NDArray[numpy.float64],
            NDArray[numpy.float64],
            NDArray[numpy.int32],
            NDArray[numpy.int32],
        ]
        | None,
        n_threads: int,
    ) -> None: ...
    def columns(self) -> dict[str, NDArray[Any]]: ...

def grow_rotation_forest(
    *,
    table: RotationTable,
    params: ForestParams,
    bootstrap: Bootstrap | None,
    first_of_block: NDArray[numpy.int64],
    sample_fraction: float,
    replace: bool,
    weight: NDArray[numpy.float64] | None,
    values: NDArray[numpy.float64] | None,
    classes: NDArray[numpy.int32] | None,
    n_classes: int,
    mass: NDArray[numpy.int64] | None,
    first: int,
    n_trees: int,
    oob_sums: NDArray[numpy.float64] | None,
    oob_counts: NDArray[numpy.int32] | None,
) -> list[dict[str, NDArray[Any]]]: ...

class GrownTrees:
    def __len__(self) -> int: ...
    def arrays(self) -> list[dict[str, NDArray[Any]]]: ...
    def n_leaves(self) -> list[int]: ...
    def take_steps(self, loss: str, parameter: float, rate: float) -> float: ...
    def add_to(
        self, scores: NDArray[numpy.float64], leaf_of_row: NDArray[numpy.int32], n_threads: int
    ) -> None: ...

def join_trees(rounds: Sequence[GrownTrees]) -> dict[str, NDArray[Any]]: ...
def right_of(
    is_inner: NDArray[numpy.uint8], first_node: NDArray[numpy.int64]
) -> NDArray[numpy.int32]: ...
def node_weights(
    feature: NDArray[numpy.int32],
    right: NDArray[numpy.int32],
    leaves: NDArray[numpy.float64],
    first_node: NDArray[numpy.int64],
    first_leaf: NDArray[numpy.int64],
) -> NDArray[numpy.float64]: ...

class RowDraws:
    def __init__(
        self, n_rows: int, mass: NDArray[numpy.int64] | None, n_draws: int, replace: bool, seed: int
    ) -> None: ...
    def draw(self, member: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]: ...

@overload
def grow_isolation_forest(
    *,
    table: NDArray[numpy.float32],
    index: NDArray[numpy.int64],
    draws: RowDraws,
    n_levels: NDArray[numpy.int32],
    max_features: int,
    max_depth: int,
    seed: int,
    first: int,
    n_trees: int,
    n_threads: int,
) -> dict[str, NDArray[Any]]: ...
@overload
def grow_isolation_forest(
    *,
    table: NDArray[numpy.float64],
    index: NDArray[numpy.int64],
    draws: RowDraws,
    n_levels: NDArray[numpy.int32],
    max_features: int,
    max_depth: int,
    seed: int,
    first: int,
    n_trees: int,
    n_threads: int,
) -> dict[str, NDArray[Any]]: ...
def mean_path_length(n: float) -> float: ...
def losses() -> list[str]: ...
def loss_facts(loss: str) -> dict[str, Any]: ...
def loss_degrees(loss: str, parameter: float) -> tuple[float, float, float]: ...
def loss_slopes(loss: str, parameter: float) -> tuple[float, float] | None: ...
def gradients(
    loss: str,
    parameter: float,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64],
    n_threads: int,
    base: float = 0.0,
    base_slope: float = 0.0,
) -> bool: ...
def mean_loss(
    loss: str,
    parameter: float,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    n_threads: int,
) -> float: ...
def losses_of_rows(
    loss: str,
    parameter: float,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    n_threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def base_scores(
    loss: str,
    parameter: float,
    y: NDArray[numpy.uint8],
    n_scores: int,
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
) -> NDArray[numpy.float64]: ...
@overload
def base_scores(
    loss: str,
    parameter: float,
    y: NDArray[numpy.float64],
    n_scores: int,
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
) -> NDArray[numpy.float64]: ...
def predictions(
    loss: str, scores: NDArray[numpy.float64], n_threads: int
) -> NDArray[numpy.float64]: ...
def add_leaf_values(
    scores: NDArray[numpy.float64],
    leaf_of_row: NDArray[numpy.int32],
    values: NDArray[numpy.float64],
    n_threads: int,
) -> None: ...
def leaf_constants(
    loss: str,
    parameter: float,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    leaf_of_row: NDArray[numpy.int32],
    n_leaves: int,
    n_threads: int,
) -> NDArray[numpy.float64]: ...
def leaf_steps(
    loss: str,
    parameter: float,
    rate: float,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64],
    copies: NDArray[numpy.int64] | None,
    leaf_of_row: NDArray[numpy.int32],
    n_leaves: int,
    n_threads: int,
    l2: float = 0.0,
) -> NDArray[numpy.float64]: ...
def newton_steps(
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    leaf_of_row: NDArray[numpy.int32],
    n_leaves: int,
    l1: float,
    l2: float,
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def refit_leaves(
    loss: str,
    parameter: float,
    rate: float,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    drawn: NDArray[numpy.uint8] | None,
    leaf_of_row: NDArray[numpy.uint8],
    n_leaves: int,
    l1: float,
    l2: float,
    scores: NDArray[numpy.float64],
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def refit_leaves(
    loss: str,
    parameter: float,
    rate: float,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    drawn: NDArray[numpy.uint8] | None,
    leaf_of_row: NDArray[numpy.uint16],
    n_leaves: int,
    l1: float,
    l2: float,
    scores: NDArray[numpy.float64],
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def refit_leaves(
    loss: str,
    parameter: float,
    rate: float,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    drawn: NDArray[numpy.uint8] | None,
    leaf_of_row: NDArray[numpy.int32],
    n_leaves: int,
    l1: float,
    l2: float,
    scores: NDArray[numpy.float64],
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
def leaf_sums(
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    leaf_of_row: NDArray[numpy.int32],
    n_leaves: int,
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def cap_steps(loss: str, parameter: float, rate: float, steps: NDArray[numpy.float64]) -> None: ...
def quantile(
    values: NDArray[numpy.float64],
    level: float,
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
) -> float: ...
def exact_total(values: NDArray[numpy.float64], copies: NDArray[numpy.int64] | None) -> float: ...
def query_units(
    loss: str,
    first: NDArray[numpy.int64],
    gains: NDArray[numpy.float64],
    truncation: int,
    unit: NDArray[numpy.float64],
    n_threads: int,
) -> None: ...
def query_gradients(
    loss: str,
    first: NDArray[numpy.int64],
    gains: NDArray[numpy.float64],
    unit: NDArray[numpy.float64],
    pair_unit: NDArray[numpy.float64] | None,
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    truncation: int,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64],
    n_threads: int,
) -> None: ...
def query_losses(
    loss: str,
    first: NDArray[numpy.int64],
    gains: NDArray[numpy.float64],
    unit: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    of_query: NDArray[numpy.float64],
    n_threads: int,
) -> None: ...
def query_measures(
    name: str,
    first: NDArray[numpy.int64],
    gains: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    k: int,
    of_query: NDArray[numpy.float64],
    n_threads: int,
) -> None: ...
def principal_axes(covariance: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...

class RotationPredictor:
    def __init__(
        self,
        *,
        feature: NDArray[numpy.int32],
        threshold: NDArray[numpy.float64],
        right: NDArray[numpy.int32],
        missing_left: NDArray[numpy.uint8],
        value: NDArray[numpy.float64],
        first_node: NDArray[numpy.int64],
        first_leaf: NDArray[numpy.int64],
        output: NDArray[numpy.int32],
        tree_weight: NDArray[numpy.float64],
        base_score: NDArray[numpy.float64],
        category_set: NDArray[numpy.int32],
        first_word: NDArray[numpy.int64],
        words: NDArray[numpy.uint64],
        n_columns: int,
        n_inputs: int,
        rotated: NDArray[numpy.int32],
        centre: NDArray[numpy.float64],
        scale: NDArray[numpy.float64],
        kept: NDArray[numpy.int32],
        flagged: NDArray[numpy.int32],
        first_of_block: NDArray[numpy.int64],
        order: NDArray[numpy.int32],
        loading: NDArray[numpy.float64],
    ) -> None: ...
    def answer(self, rows: NDArray[Any], n_threads: int) -> NDArray[numpy.float64]: ...
    @overload
    def spread(
        self, table: NDArray[numpy.float32], centre: NDArray[numpy.float64], n_threads: int
    ) -> NDArray[numpy.float64]: ...
    @overload
    def spread(
        self, table: NDArray[numpy.float64], centre: NDArray[numpy.float64], n_threads: int
    ) -> NDArray[numpy.float64]: ...
    @overload
    def apply(self, table: NDArray[numpy.float32], n_threads: int) -> NDArray[numpy.int32]: ...
    @overload
    def apply(self, table: NDArray[numpy.float64], n_threads: int) -> NDArray[numpy.int32]: ...

def mean_extremes(
    values: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
) -> NDArray[numpy.float64]: ...
def mean_sums(
    values: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    most: NDArray[numpy.float64],
) -> NDArray[numpy.int64]: ...
def mean_of_sums(most: NDArray[numpy.float64], limbs: NDArray[numpy.int64]) -> float: ...
def base_scores_of_means(loss: str, means: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
def leaf_extremes(
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    n_threads: int,
) -> NDArray[numpy.float64]: ...
def sums_of_leaves(
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    leaf_of_row: NDArray[numpy.int32],
    n_leaves: int,
    most: NDArray[numpy.float64],
    n_threads: int,
) -> NDArray[numpy.int64]: ...
def steps_of_sums(
    most: NDArray[numpy.float64], limbs: NDArray[numpy.int64], l1: float, l2: float
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...

class OptionGrower:
    def __init__(
        self,
        *,
        codes: NDArray[numpy.uint8],
        n_rows: int,
        n_bins: NDArray[numpy.int32],
        is_category: NDArray[numpy.uint8] | None,
        wide_columns: Sequence[int],
        wide_codes: Sequence[NDArray[numpy.uint16]],
        criterion: str,
        max_leaf_nodes: int,
        max_depth: int,
        min_samples_split: int,
        min_samples_leaf: int,
        n_threads: int,
        weight: NDArray[numpy.float64] | None,
        sums: NDArray[numpy.float64] | None,
        classes: NDArray[numpy.int32] | None,
        n_classes: int,
    ) -> None: ...
    def saw_missing(self) -> NDArray[numpy.uint8]: ...
    def stumps(
        self, copies: NDArray[numpy.int64], most: int, ratio: float
    ) -> list[tuple[dict[str, NDArray[Any]], NDArray[numpy.int32]]]: ...
    def part(
        self, copies: NDArray[numpy.int64], goes_left: NDArray[numpy.uint8]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[numpy.int32]]: ...
    def grow(self, copies: NDArray[numpy.int64]) -> dict[str, NDArray[Any]]: ...

class OptionPredictor:
    def __init__(
        self,
        *,
        feature: NDArray[numpy.int32],
        threshold: NDArray[numpy.float64],
        right: NDArray[numpy.int32],
        missing_left: NDArray[numpy.uint8],
        next_option: NDArray[numpy.int32],
        value: NDArray[numpy.float64],
        category_set: NDArray[numpy.int32],
        first_word: NDArray[numpy.int64],
        words: NDArray[numpy.uint64],
        n_columns: int,
    ) -> None: ...
    @overload
    def predict(self, table: NDArray[numpy.float32], n_threads: int) -> NDArray[numpy.float64]: ...
    @overload
    def predict(self, table: NDArray[numpy.float64], n_threads: int) -> NDArray[numpy.float64]: ...
    @overload
    def predict_spread(
        self, table: NDArray[numpy.float32], n_threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    @overload
    def predict_spread(
        self, table: NDArray[numpy.float64], n_threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    @overload
    def apply(self, table: NDArray[numpy.float32], n_threads: int) -> NDArray[numpy.int32]: ...
    @overload
    def apply(self, table: NDArray[numpy.float64], n_threads: int) -> NDArray[numpy.int32]: ...
    def leaf_shares(self) -> NDArray[numpy.float64]: ...

class Part:
    def __init__(
        self,
        *,
        codes: NDArray[numpy.uint8] | None,
        n_rows: int,
        n_bins: NDArray[numpy.int32],
        is_category: NDArray[numpy.uint8] | None,
        wide_columns: Sequence[int],
        wide_codes: Sequence[NDArray[numpy.uint16]],
        n_levels: Sequence[int],
        n_threads: int,
        by_columns: bool = True,
    ) -> None: ...
    def saw_missing(self) -> NDArray[numpy.uint8]: ...
    def look(
        self,
        gradient: NDArray[numpy.float64],
        hessian: NDArray[numpy.float64] | None,
        cells: str,
        copies: NDArray[numpy.int64] | None = None,
    ) -> tuple[NDArray[Any], ...]: ...
    def expect(
        self,
        most: NDArray[numpy.float64],
        copies: int,
        rounding: NDArray[numpy.int64],
        needs_count: bool,
    ) -> tuple[NDArray[Any], ...]: ...
    def coarse_sums(
        self, most: NDArray[numpy.float64], copies: int
    ) -> tuple[NDArray[Any], ...]: ...
    def write(
        self,
        most: NDArray[numpy.float64],
        copies: int,
        rounding: NDArray[numpy.int64],
        needs_count: bool,
    ) -> tuple[NDArray[Any], ...]: ...
    def rows_of_nodes(self) -> tuple[NDArray[Any], ...]: ...
    def restore(
        self,
        most: NDArray[numpy.float64],
        copies: int,
        rounding: NDArray[numpy.int64],
        needs_count: bool,
        rows: NDArray[numpy.uint32] | None,
        ranges: NDArray[numpy.int64] | None,
    ) -> None: ...
    def remember(
        self,
        divisions: NDArray[numpy.int64],
        first_word: NDArray[numpy.int64],
        words: NDArray[numpy.uint64],
    ) -> None: ...
    def add_rows(self, node: int) -> tuple[NDArray[Any], ...]: ...
    def divide(
        self,
        divisions: NDArray[numpy.int64],
        first_word: NDArray[numpy.int64],
        words: NDArray[numpy.uint64],
    ) -> tuple[NDArray[Any], ...]: ...
    def copies_by_code(self, node: int) -> tuple[NDArray[Any], ...]: ...
    def sums_of_leaves(
        self, leaf_of_node: Sequence[int], n_leaves: int, leaf_of_row: NDArray[numpy.int32]
    ) -> tuple[NDArray[Any], ...]: ...

class PartsGrower:
    def __init__(
        self,
        *,
        n_bins: NDArray[numpy.int32],
        params: TreeParams,
        is_category: NDArray[numpy.uint8] | None,
        wide_columns: Sequence[int],
        n_levels: Sequence[int],
        saw_missing: NDArray[numpy.uint8],
        cuts: NDArray[numpy.float64],
        first: NDArray[numpy.int64],
    ) -> None: ...
    def grow(self, asks: Sequence[object], *, has_hessian: bool, member: int = 0) -> GrownTrees: ...

def search_cells(
    cells: NDArray[numpy.int64],
    counts: NDArray[numpy.int64] | None,
    total: int,
    limits: Mapping[str, float],
    direction: NDArray[numpy.float64] | None,
    instructions: str,
) -> tuple[
    NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.int64]
]: ...
def add_gains(
    cells: NDArray[numpy.int64],
    counts: NDArray[numpy.int64] | None,
    total: int,
    limits: Mapping[str, float],
    direction: NDArray[numpy.float64] | None,
    parent: float,
    gains: NDArray[numpy.float64],
    has_missing: bool,
    instructions: str,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]: ...
def search_levels(
    cells: NDArray[numpy.int64],
    counts: NDArray[numpy.int64] | None,
    least: float,
    few: int,
    smooth: float,
    more_l2: float,
    total: int,
    limits: Mapping[str, float],
    instructions: str,
) -> tuple[float, float]: ...

class Stumps:
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float32],
        classes: NDArray[numpy.int32],
        n_classes: int,
        max_bins: int,
        n_threads: int,
        n_levels: NDArray[numpy.int32] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float64],
        classes: NDArray[numpy.int32],
        n_classes: int,
        max_bins: int,
        n_threads: int,
        n_levels: NDArray[numpy.int32] | None = None,
    ) -> None: ...
    def find(
        self,
        mass: NDArray[numpy.float64],
        criterion: str,
        goes_right: NDArray[numpy.uint8],
        row_weight: float = 1.0,
    ) -> tuple[
        int,
        float,
        bool,
        float,
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.uint64],
    ]: ...
    def mark_wrong(
        self, goes_right: NDArray[numpy.uint8], left: int, right: int, wrong: NDArray[numpy.bool_]
    ) -> None: ...

def mass_of(mass: NDArray[numpy.float64], marked: NDArray[numpy.bool_]) -> float: ...
def reweight(
    each: NDArray[numpy.float64],
    mass: NDArray[numpy.float64],
    wrong: NDArray[numpy.bool_],
    copies: NDArray[numpy.int64] | None,
    if_right: float,
    if_wrong: float,
    least: float,
    steps: float,
) -> None: ...
def weighted_medians(
    values: NDArray[numpy.float64], weights: NDArray[numpy.float64], n_threads: int
) -> NDArray[numpy.float64]: ...
def concordance(
    time: NDArray[numpy.int32],
    is_event: NDArray[numpy.uint8],
    risk: NDArray[numpy.int32],
    weight_of_event: NDArray[numpy.float64],
    weight_of_other: NDArray[numpy.float64],
) -> tuple[float, float, float]: ...
def grow_survival_forest(
    codes: NDArray[numpy.uint16],
    n_codes: NDArray[numpy.int32],
    is_category: NDArray[numpy.uint8],
    cuts: NDArray[numpy.float64],
    first_cut: NDArray[numpy.int64],
    time: NDArray[numpy.int32],
    is_event: NDArray[numpy.uint8],
    weight: NDArray[numpy.float64] | None,
    n_draws: int,
    n_trees: int,
    max_features: int,
    max_depth: int,
    min_samples_split: int,
    min_samples_leaf: int,
    seed: int,
    n_threads: int,
) -> dict[str, NDArray[Any]]: ...
def mean_curves(
    first_step: NDArray[numpy.int64],
    step_time: NDArray[numpy.int32],
    step_value: NDArray[numpy.float64],
    start: float,
    leaves: NDArray[numpy.int64],
    n_times: int,
    n_threads: int,
) -> NDArray[numpy.float64]: ...
def cox_gradients(
    ties: str,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64],
    n_threads: int,
) -> None: ...
def cox_mean_loss(
    ties: str,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    n_threads: int,
) -> float: ...
def baseline_hazard(
    ties: str,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    n_threads: int,
) -> NDArray[numpy.float64]: ...
def aft_gradients(
    distribution: str,
    scale: float,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    gradient: NDArray[numpy.float64],
    hessian: NDArray[numpy.float64],
    n_threads: int,
) -> None: ...
def aft_mean_loss(
    distribution: str,
    scale: float,
    y: NDArray[numpy.float64],
    scores: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    copies: NDArray[numpy.int64] | None,
    n_threads: int,
) -> float: ...
def aft_log_survival(
    distribution: str, z: NDArray[numpy.float64], n_threads: int
) -> NDArray[numpy.float64]: ...
def criteria() -> list[str]: ...
def criterion_facts(criterion: str) -> dict[str, Any]: ...

class TreeParams:
    def __init__(
        self,
        *,
        criterion: str,
        growth: str,
        cells: str,
        max_leaf_nodes: int,
        max_depth: int,
        min_samples_split: int,
        min_samples_leaf: int,
        min_child_weight: float,
        min_gain: float,
        prune_gain: float,
        l2: float,
        l1: float,
        n_threads: int,
    ) -> None: ...
    def choose_columns(
        self, *, max_features: int, sampling: str, seed: int, groups: Sequence[Sequence[int]]
    ) -> None: ...
    def keep_monotone(self, direction: Sequence[float]) -> None: ...

class Grower:
    @overload
    def __init__(
        self,
        codes: NDArray[numpy.uint8],
        n_rows: int,
        n_bins: NDArray[numpy.int32],
        params: TreeParams,
        is_category: NDArray[numpy.uint8] | None,
        wide_columns: Sequence[int],
        wide_codes: Sequence[NDArray[numpy.uint16]],
        cuts: NDArray[numpy.float64],
        first: NDArray[numpy.int64],
    ) -> None: ...
    @overload
    def __init__(
        self,
        rows: NDArray[numpy.uint32],
        codes: NDArray[numpy.uint8],
        begins: NDArray[numpy.int64],
        usual: NDArray[numpy.uint8],
        n_rows: int,
        n_bins: NDArray[numpy.int32],
        params: TreeParams,
        cuts: NDArray[numpy.float64],
        first: NDArray[numpy.int64],
    ) -> None: ...
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float32],
        cuts: NDArray[numpy.float64] | None,
        first: NDArray[numpy.int64] | None,
        params: TreeParams,
        n_levels: NDArray[numpy.int32] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        table: NDArray[numpy.float64],
        cuts: NDArray[numpy.float64] | None,
        first: NDArray[numpy.int64] | None,
        params: TreeParams,
        n_levels: NDArray[numpy.int32] | None = None,
    ) -> None: ...
    def saw_missing(self) -> NDArray[numpy.uint8]: ...
    def grow(
        self,
        *,
        weight: NDArray[numpy.float64] | None,
        sums: NDArray[numpy.float64] | None,
        sums_per_weight: bool,
        classes: NDArray[numpy.int32] | None,
        n_classes: int,
        copies: NDArray[numpy.int64] | None,
        leaf_of_row: NDArray[numpy.int32],
        member: int = 0,
        labels: NDArray[numpy.int32] | None = None,
        first_class: Sequence[int] = [],
        n_used: int | None = None,
    ) -> dict[str, NDArray[Any]]: ...
    def grow_each(
        self,
        *,
        weight: NDArray[numpy.float64] | None,
        sums: NDArray[numpy.float64],
        copies: NDArray[numpy.int64] | None,
        leaf_of_row: NDArray[numpy.int32],
        member: int = 0,
        n_used: int | None = None,
    ) -> GrownTrees: ...
    @overload
    def grow_on_loss(
        self,
        *,
        loss: str,
        parameter: float,
        y: NDArray[numpy.uint8],
        scores: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        copies: NDArray[numpy.int64] | None,
        leaf_of_row: NDArray[numpy.int32],
        member: int = 0,
        base: float = 0.0,
        base_slope: float = 0.0,
        n_used: int | None = None,
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def grow_on_loss(
        self,
        *,
        loss: str,
        parameter: float,
        y: NDArray[numpy.float64],
        scores: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        copies: NDArray[numpy.int64] | None,
        leaf_of_row: NDArray[numpy.int32],
        member: int = 0,
        base: float = 0.0,
        base_slope: float = 0.0,
        n_used: int | None = None,
    ) -> dict[str, NDArray[Any]]: ...

class Predictor:
    def __init__(
        self,
        *,
        feature: NDArray[numpy.int32],
        threshold: NDArray[numpy.float64],
        right: NDArray[numpy.int32],
        missing_left: NDArray[numpy.uint8],
        value: NDArray[numpy.float64],
        first_node: NDArray[numpy.int64],
        first_leaf: NDArray[numpy.int64],
        output: NDArray[numpy.int32],
        tree_weight: NDArray[numpy.float64],
        base_score: NDArray[numpy.float64],
        category_set: NDArray[numpy.int32],
        first_word: NDArray[numpy.int64],
        words: NDArray[numpy.uint64],
        n_columns: int,
    ) -> None: ...
    @overload
    def predict(
        self, table: NDArray[numpy.float32], n_threads: int, engine: str = "automatic"
    ) -> NDArray[numpy.float64]: ...
    @overload
    def predict(
        self, table: NDArray[numpy.float64], n_threads: int, engine: str = "automatic"
    ) -> NDArray[numpy.float64]: ...
    def answer(self, rows: NDArray[Any], loss: str, n_threads: int) -> NDArray[numpy.float64]: ...
    @overload
    def apply(self, table: NDArray[numpy.float32], n_threads: int) -> NDArray[numpy.int32]: ...
    @overload
    def apply(self, table: NDArray[numpy.float64], n_threads: int) -> NDArray[numpy.int32]: ...
