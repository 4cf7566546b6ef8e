"""Model files changed at random under the guidance of coverage: `make fuzz-coverage TIME=600`.

Needs atheris. The arguments are those of libFuzzer: the folder of the corpus first. Checksums are
not compared, so that changes reach the code behind them.
"""

import contextlib
import sys
import warnings

import atheris
import numpy as np

with atheris.instrument_imports(include=["weald.persist", "weald.checked_state", "weald.trees"]):
    import weald
    from weald.persist import archive
    from weald.persist.model_file import model_of_bytes

warnings.simplefilter("ignore")
np.seterr(all="ignore")


class AnyChecksum:
    """Stands for zlib: a checksum that equals every other."""

    class Equal(int):
        def __ne__(self, _other: object) -> bool:
            return False

    @staticmethod
    def crc32(_content: object) -> "AnyChecksum.Equal":
        return AnyChecksum.Equal()


def test_one(content: bytes) -> None:
    with contextlib.suppress(weald.ModelFormatError):
        model_of_bytes(content)


if __name__ == "__main__":
    archive.zlib = AnyChecksum  # type: ignore[assignment]
    atheris.Setup(sys.argv, test_one)
    atheris.Fuzz()
