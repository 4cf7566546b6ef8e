"""The commands and their options; what they do is in the modules beside this one."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from weald.cli.comparing import DEFAULT_METHODS, Comparison
from weald.cli.methods import CONSTANT, METHODS
from weald.cli.scores import METRIC_NAMES
from weald.cli.tables import nearest
from weald.cli.training import Training
from weald.version import __version__

Command = TypeVar("Command", bound=Callable[..., Any])


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Join options to one decorator; the help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_table = click.argument("table")
_model = click.argument("model")
_target = click.option("--target", metavar="COLUMN", help="The column to predict.")
_json = click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
_force = click.option("--force", is_flag=True, help="Overwrite existing files.")
_debug = click.option("--debug", is_flag=True, expose_value=False, help="Show traces of errors.")
_seed = click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
_jobs = click.option("--jobs", type=int, help="Number of threads; all cores by default.")
_test = click.option("--test", metavar="FILE", help="A table of other rows to test on.")
_print_options = _options(_json, _debug)
_write_options = _options(_force, _json, _debug)
_data_options = _options(
    click.option(
        "--task",
        type=click.Choice(["auto", "classification", "regression"]),
        default="auto",
        help="By default classes if the target is text or at most 20 different whole numbers.",
    ),
    click.option("--drop", multiple=True, metavar="COLUMN", help="A column to leave out."),
    click.option("--weight", metavar="COLUMN", help="A column of sample weights."),
)


class _Commands(click.Group):
    """Commands, the nearest of which is named if there is no such one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            near = nearest(self.commands, args[0])
            raise click.UsageError(
                f"there is no command {args[0]!r}. Did you mean {near[0]!r}? There are: "
                f"{', '.join(self.commands)}.",
                ctx,
            )
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="weald", message="%(prog)s %(version)s")
def weald() -> None:
    """Ensembles of trees for tables.

    A TABLE is a csv, tsv, parquet, Arrow or JSON lines file; options of reading may follow its
    name, as in "table.data?format=csv&sep=%3B&header=0". Exit codes: 0, 1 for data that cannot be
    used, 2 for wrong usage.
    """


@weald.command(short_help="Fit a model to a table and save it.")
@_table
@_target
@click.option("-o", "--output", metavar="MODEL", help="File to save the model to.")
@click.option("--method", default="boosted_trees", show_default=True, help=", ".join(METHODS))
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the method."
)
@_data_options
@_test
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the rows held out for the scores; 0: no scores.",
)
@click.option("--intervals", is_flag=True, help="Save what predict --interval needs (of numbers).")
@_seed
@_jobs
@_write_options
def train(table: str, target: str | None, output: str | None, as_json: bool, **rest: Any) -> None:
    """Fit a model to a table, say how good it is on unseen rows, and save it.

    The scores are of a model fitted on the rows that are not held out; the model saved is then
    fitted on all rows. With --test, the scores are of the saved model on those rows.
    """
    from weald.cli import training

    training.train(Training(table, target, output, json=as_json, **rest))


@weald.command(short_help="Find the best ensemble in a given time.")
@_table
@_target
@click.option("-o", "--output", metavar="MODEL", help="File to save the ensemble to.")
@click.option(
    "--time",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    help="Time limit of the fit.",
)
@click.option("--metric", type=click.Choice(METRIC_NAMES), help="By default log_loss or rmse.")
@click.option("--only-trees", is_flag=True, help="No linear models, networks and neighbours.")
@_data_options
@_test
@click.option("--intervals", is_flag=True, help="Save what predict --interval needs (of numbers).")
@_seed
@_jobs
@_write_options
def auto(
    table: str,
    target: str | None,
    output: str | None,
    time: float,
    metric: str | None,
    only_trees: bool,
    as_json: bool,
    **rest: Any,
) -> None:
    """Train many models within a time limit and save the best ensemble of them.

    Prints every model with its score on rows that it was not fitted on, and its weight. Ctrl-C ends
    the search with the best ensemble so far. The weights are chosen on these scores, so that of the
    ensemble is slightly optimistic; --test gives scores on other rows.
    """
    from weald.cli import searching

    data = Training(table, target, output, method="auto", json=as_json, **rest)
    searching.search(searching.Searching(data, time, metric, only_trees))


@weald.command(short_help="Predict the rows of a table.")
@_model
@_table
@click.option("-o", "--output", metavar="FILE", help="A csv file; by default stdout.")
@click.option("--proba", "probabilities", is_flag=True, help="Probabilities of the classes, too.")
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="COVERAGE",
    help="Prediction intervals of a model trained with --intervals, such as 0.9.",
)
@click.option("--keep", multiple=True, metavar="COLUMN", help="A column to repeat in the output.")
@_write_options
def predict(model: str, table: str, **options: Any) -> None:
    """Predict the rows of a table with a saved MODEL.

    Columns are matched by name, in any order; others are left out. Text that a spreadsheet would
    run as a formula gets an apostrophe in front.
    """
    from weald.cli import predicting

    predicting.predict(model, table, **options)


@weald.command(short_help="Score a model on rows it was not fitted on.")
@_model
@_table
@_target
@_print_options
def evaluate(model: str, table: str, target: str | None, as_json: bool) -> None:
    """Print the scores of a saved MODEL on a table of rows that it was not fitted on."""
    from weald.cli import training

    training.evaluate(model, table, target, as_json)


@weald.command(short_help="Compare methods by repeated cross-validation.")
@_table
@_target
@click.option(
    "--method",
    "methods",
    multiple=True,
    default=DEFAULT_METHODS,
    help=f"A method to compare: {', '.join(METHODS)} or {CONSTANT}.  [default: five of them]",
)
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=2, show_default=True)
@click.option("--metric", type=click.Choice(METRIC_NAMES), help="By default log_loss or rmse.")
@click.option("--picture", metavar="FILE", help="Draw all scores: a png, svg or pdf file.")
@_data_options
@_seed
@_jobs
@_write_options
def compare(
    table: str,
    target: str | None,
    methods: tuple[str, ...],
    folds: int,
    repeats: int,
    metric: str | None,
    picture: str | None,
    as_json: bool,
    **rest: Any,
) -> None:
    """Compare methods by repeated cross-validation on the same folds, with a paired test."""
    from weald.cli import comparing

    data = Training(table, target, None, json=as_json, **rest)
    comparing.compare(Comparison(data, methods, folds, repeats, metric, picture))


@weald.command(short_help="Say what the columns contribute to predictions.")
@_model
@_table
@click.option("--row", type=click.IntRange(0), help="Explain one row; the first is 0.")
@click.option("--max-rows", type=click.IntRange(1), default=1000, show_default=True)
@click.option("-o", "--output", metavar="FILE", help="A csv file for the values of all rows.")
@_write_options
def explain(model: str, table: str, **options: Any) -> None:
    """Print what the columns contribute to predictions of a saved MODEL (Shapley values)."""
    from weald.cli import explaining

    explaining.explain(model, table, **options)


@weald.command(short_help="Say what the error is made of, and what to change.")
@_model
@_table
@_target
@_test
@click.option(
    "--refit/--no-refit",
    default=True,
    help="--no-refit: the table holds rows that the model was not fitted on.",
)
@click.option("--html", metavar="FILE", help="A page to write the diagnosis to.")
@_seed
@_write_options
def diagnose(model: str, table: str, target: str | None, **options: Any) -> None:
    """Say what the error of a saved MODEL is made of, what is wrong with its rows, what to change.

    The TABLE is the one that the model was fitted on.
    """
    from weald.cli import judging

    judging.diagnose(model, table, target, **options)


@weald.command(short_help="Write one HTML page about a model.")
@_model
@_table
@_target
@click.option("-o", "--output", metavar="FILE", default="report.html", show_default=True)
@_test
@_seed
@_write_options
def report(model: str, table: str, target: str | None, **options: Any) -> None:
    """Write one HTML page about a saved MODEL and the TABLE it was fitted on."""
    from weald.cli import judging

    judging.report(model, table, target, **options)


@weald.command(short_help="Imitate a model by a small tree or rules.")
@_model
@_table
@_target
@click.option(
    "--student",
    type=click.Choice(["tree", "option_tree", "rules"]),
    default="tree",
    show_default=True,
)
@click.option("--max-leaves", type=click.IntRange(2), default=16, show_default=True)
@click.option("-o", "--output", metavar="MODEL", help="File to save the small model to.")
@_seed
@_write_options
def distill(model: str, table: str, target: str | None, **options: Any) -> None:
    """Print a small tree or a list of rules that imitates a saved MODEL, and how well it does."""
    from weald.cli import judging

    judging.distill(model, table, target, **options)


@weald.command(short_help="Write a model as ONNX, C or Python.")
@_model
@click.argument("output")
@click.option("--format", type=click.Choice(["onnx", "c", "python"]), help="By default by suffix.")
@_write_options
def export(model: str, output: str, format: str | None, force: bool, as_json: bool) -> None:
    """Write a saved MODEL as OUTPUT: model.onnx, model.c or model.py."""
    from weald.cli import exporting

    exporting.export(model, output, format, force, as_json)


@weald.command(short_help="Answer requests for predictions over HTTP.")
@_model
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 takes a free one.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    help="Secret that requests must bring; by default from WEALD_TOKEN. Any --host but this "
    "machine's own requires one.",
)
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="A name of this service in URLs."
)
@click.option(
    "--max-body",
    type=click.FloatRange(0, 1024, min_open=True),
    default=4.0,
    show_default=True,
    metavar="MB",
    help="Size of a request.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Rows of a request.",
)
@click.option(
    "--queue",
    type=click.IntRange(1),
    default=32,
    show_default=True,
    help="Large requests at a time; others are told to come back.",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Threads for large requests.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 3600, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time in which a request must arrive.",
)
@click.option("--access-log/--no-access-log", default=True, help="Log requests to stderr.")
@_debug
def serve(model: str, **options: Any) -> None:
    """Answer requests for predictions of a saved MODEL over HTTP, as JSON or csv.

    There is a page to try a row at / and one about the API at /api. SIGHUP reads the file again,
    SIGTERM and Ctrl-C stop the service when requests in flight are answered.
    """
    from weald.cli import serving

    serving.serve(model, **options)


@weald.command(short_help="Print what a model file holds, or all versions.")
@click.argument("model", required=False)
@_print_options
def info(model: str | None, as_json: bool) -> None:
    """Print what a MODEL file holds; without one, the versions of this installation."""
    from weald.cli import exporting

    exporting.info(model, as_json)
