"""``sharedoa cache``: what compiled code is kept, how much, and getting rid of it."""

from __future__ import annotations

import time
from collections import Counter

import typer

from ..errors import ConfigurationError
from ..runtime import knobs
from ..runtime.code_cache import chosen_folder, distrust_help
from ..runtime.code_cache.entry import DamagedEntry, Summary, read_summary
from ..runtime.code_cache.folder import CodeFolder, StoredFile, open_entry
from .report import new_table, print_table

application = typer.Typer(help="Compiled code kept between runs: its size; list or clear it.")


@application.callback(invoke_without_command=True)
def sizes(context: typer.Context) -> None:
    """Compiled code kept between runs: its size; list or clear it."""
    if context.invoked_subcommand is not None:
        return
    folder = _open()
    files = list(folder.files())
    of_compilers = Counter(
        summary.compiler if (summary := _summary(file)) else "unreadable"
        for file in files
        if file.is_whole
    )
    rows = new_table("code cache", "")
    rows.add_row("folder", str(folder.path))
    rows.add_row("entries", str(sum(file.is_whole for file in files)))
    for compiler, count in sorted(of_compilers.items()):
        rows.add_row(f"entries: {compiler}", str(count))
    rows.add_row("size", _mebibytes(sum(file.size for file in files)))
    rows.add_row("limit", _mebibytes(knobs.cache_size.value()))
    print_table(rows)


@application.command("list")
def list_entries() -> None:
    """Each entry, what was used last first."""
    rows = new_table("kernel or file", "compiler", "stages, in bytes", "size", "used", "name")
    for file in sorted(_open().files(), key=lambda file: file.used, reverse=True):
        if not file.is_whole:
            continue
        summary = _summary(file)
        if summary is None:
            told = ("unreadable, will be made again", "", "")
        else:
            stages = ", ".join(f"{name} {size}" for name, size in summary.stages.items())
            told = (summary.label, summary.compiler, stages)
        used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(file.used / 1e9))
        rows.add_row(*told, _mebibytes(file.size), used, file.name[:12])
    print_table(rows)


@application.command()
def clear() -> None:
    """Remove every entry; programs that run are not disturbed."""
    folder = _open()
    try:
        removed = folder.clear()
    except OSError as error:
        raise ConfigurationError(
            f"{folder.path} cannot be cleared: {error.strerror}", "remove the folder by hand"
        ) from error
    typer.echo(f"{removed} entries removed from {folder.path}")


def _open() -> CodeFolder:
    folder = chosen_folder()
    if folder is None:
        raise ConfigurationError(
            "the code cache is off", f"set {knobs.cache_dir.variable} to its folder, or unset it"
        )
    reason = folder.distrust()
    if reason is not None:
        raise ConfigurationError(
            f"the code cache is off: {folder.path} is not used, as {reason}", distrust_help(folder)
        )
    return folder


def _summary(file: StoredFile) -> Summary | None:
    try:
        with open_entry(file.path) as opened:
            return read_summary(opened)
    except (OSError, DamagedEntry):
        return None


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.2f} MiB"
