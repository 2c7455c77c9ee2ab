"""The figure of a comparison: the time of every mode as a bar, one panel a program."""

from __future__ import annotations

from pathlib import Path

from ptxpass.output_file import whole_file

from ..errors import ConfigurationError
from .comparison import BASELINE, Comparison
from .output_file import require_writable


def require_drawable(file: Path) -> None:
    """Raise ConfigurationError when a figure cannot be drawn to ``file``, for whatever reason."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise ConfigurationError(
            "--plot needs matplotlib", "run `pip install 'sharedoa[plot]'`"
        ) from error
    formats = FigureCanvasBase.get_supported_filetypes()
    if file.suffix.lower().removeprefix(".") not in formats:
        raise ConfigurationError(
            f"--plot: no format of figures has the ending {file.suffix or '(none)'} of {file}",
            f"name a .png, .svg or .pdf file; there are {', '.join(sorted(formats))}",
        )
    require_writable("--plot", file)


def draw(comparisons: list[Comparison], file: Path) -> None:
    """Write the figure in the format that the file's name ends in (``require_drawable``).

    Raises ConfigurationError for a file that cannot be written.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        len(comparisons),
        1,
        figsize=(9, 3.6 * len(comparisons)),
        squeeze=False,
        layout="constrained",
    )
    for panel, comparison in zip(panels[:, 0], comparisons, strict=True):
        names = [each.mode for each in comparison.modes]
        seconds = [each.seconds for each in comparison.modes]
        colours = ["tab:orange" if name == BASELINE else "tab:blue" for name in names]
        bars = panel.bar(names, seconds, color=colours)
        ratios = [comparison.ratio(each) for each in comparison.modes]
        panel.bar_label(bars, ["" if r is None else f"{r:.2f}" for r in ratios], fontsize=8)
        panel.set_ylabel("seconds")
        panel.set_title(f"{comparison.app}: time by mode, labels relative to {BASELINE}")
        panel.tick_params(axis="x", rotation=35)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as opened:
            figure.savefig(opened, format=file.suffix.lower().removeprefix("."), dpi=150)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"--plot: {file} cannot be written: {error}", "name a .png, .svg or .pdf file"
        ) from error
    finally:
        pyplot.close(figure)
