"""The naive twin of the choice of columns: draws by the definition, groups by their meaning."""

from dataclasses import dataclass

WRAP = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
PURPOSE = 4  # weald.resampling.Purpose.COLUMNS


def mix(x: int) -> int:
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93 & WRAP
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93 & WRAP
    return x ^ (x >> 32)


def key_of_tree(seed: int, member: int) -> int:
    low = high = 0
    for word in (seed, member, PURPOSE):
        low = (mix(low ^ word) + GOLDEN) & WRAP
        high = mix((high + word * 0xC2B2AE3D27D4EB4F) & WRAP) ^ low
    return mix(high ^ mix(low))


def key_of_child(key: int, side: str) -> int:
    return mix(key ^ {"L": 0x165667B19E3779F9, "R": 0xC2B2AE3D27D4EB4F}[side])


def shuffled(n: int, key: int) -> list[int]:
    order = list(range(n))
    for j in range(n):
        word = mix((key + (j + 1) * GOLDEN) & WRAP)
        k = j + (word * (n - j) >> 64)
        order[j], order[k] = order[k], order[j]
    return order


@dataclass(frozen=True)
class ColumnTwin:
    n_columns: int
    max_features: int | None
    feature_sampling: str
    seed: int
    groups: tuple[tuple[int, ...], ...] | None

    def of(self, path: str, used: frozenset[int], member: int = 0) -> tuple[list[int], list[int]]:
        """The columns a node looks at, and those it goes on with, one by one."""
        allowed = range(self.n_columns)
        if self.groups is not None:
            allowed = {c for group in self.groups if used <= set(group) for c in group}
        if self.max_features is None:
            return [c for c in range(self.n_columns) if c in allowed], []
        key = key_of_tree(self.seed, member)
        way = {"tree": "", "level": "L" * len(path), "node": path}[self.feature_sampling]
        for side in way:
            key = key_of_child(key, side)
        order = shuffled(self.n_columns, key)
        if self.feature_sampling == "tree":
            return [c for c in order[: self.max_features] if c in allowed], []
        order = [c for c in order if c in allowed]
        return order[: self.max_features], order[self.max_features :]
