"""What a diagnosis found: each claim with its number and what to do."""

from dataclasses import dataclass

from weald.number_text import number_text

# From the most to the least urgent.
SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """One claim about a model or its data.

    Attributes
    ----------
    topic : str
        What it is about, such as "variance" or "leak".
    severity : {"critical", "warning", "info"}
        "critical": the model or its estimates are of no use as they are; "warning": something to
        change; "info": good to know.
    number : float
        The number that the claim rests on.
    text : str
        The claim in words.
    advice : str
        What to do; empty if nothing.
    """

    topic: str
    severity: str
    number: float
    text: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.severity}, {self.topic}: {self.text}" + (
            f" {self.advice}" if self.advice else ""
        )


@dataclass(frozen=True)
class Estimate:
    """A mean over rows.

    Attributes
    ----------
    value : float
        The mean.
    standard_error : float
        Its standard error.
    n : int
        Number of rows.
    """

    value: float
    standard_error: float
    n: int

    def __float__(self) -> float:
        return self.value


def plain_number(value: float) -> str:
    """Format a number with three significant digits and no needless exponent.

    >>> plain_number(0.12345), plain_number(1234.5), plain_number(0.0)
    ('0.123', '1234', '0')
    """
    return number_text(value, 3)


def percent(share: float) -> str:
    """Format a share.

    >>> percent(0.123), percent(0.0123)
    ('12 %', '1.2 %')
    """
    digits = 0 if abs(share) >= 0.1 else 1
    return f"{100 * share:.{digits}f} %"
