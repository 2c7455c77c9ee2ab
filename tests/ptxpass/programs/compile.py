"""Compile the programs of this folder again, as programs.toml says: python compile.py [NAME ...].

What is stored shall not name the machine it was made on. Debug information holds the folder that
the compiler ran in, so a command is taken apart (nvcc -dryrun): the preprocessor runs here, the
compiler proper in /. Files by NVRTC need a library of the version that the command names; give its
path with --nvrtc. What clang makes needs no CUDA, only clang++-14 (else it is passed over). Files
without a command were written by hand.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
_SOURCE_PATH = re.compile(r'(--orig_src_path_name )"[^"]*/')
_ASSIGNMENT = re.compile(r"([A-Z_]+)=(.*)")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile the stored programs again.")
    parser.add_argument("names", nargs="*", help="PTX files, such as single.ptx; else all")
    parser.add_argument("--nvrtc", help="path of libnvrtc.so of the version that is to be used")
    options = parser.parse_args()
    manifest = tomllib.loads((HERE / "programs.toml").read_text())
    failed = []
    for name in options.names or manifest:
        command = shlex.split(manifest[name]["command"])
        done = True
        if command[:1] == ["nvcc"]:
            done = run_nvcc(command)
        elif command[:1] == ["clang++-14"]:
            done = shutil.which(command[0]) is None or run_here(command)
        elif command[:1] == ["nvrtc"] and options.nvrtc:
            done = run_nvrtc(options.nvrtc, command)
        if not done:
            failed.append(name)
    if failed:
        print("failed:", *failed, file=sys.stderr)
    return 1 if failed else 0


def run_nvcc(command: list[str]) -> bool:
    """The steps of an nvcc command; whether all of them succeeded."""
    output = command.index("-o") + 1
    whole = [*command[:output], str(HERE / command[output]), *command[output + 1 :]]
    planned = subprocess.run(
        [whole[0], "-dryrun", *whole[1:]], cwd=HERE, capture_output=True, text=True
    )
    if planned.returncode != 0:
        print(planned.stderr, file=sys.stderr)
        return False
    environment = dict(os.environ)
    for line in planned.stderr.splitlines():
        step = line.removeprefix("#$ ")
        assignment = _ASSIGNMENT.fullmatch(step)
        if assignment is not None:
            environment[assignment[1]] = assignment[2].strip()
            continue
        folder = Path("/") if "cicc" in step else HERE
        # Names in anonymous namespaces hold a hash of this.
        step = _SOURCE_PATH.sub(r'\1"/', step)
        if subprocess.run(step, shell=True, cwd=folder, env=environment).returncode != 0:
            return False
    return True


def run_here(command: list[str]) -> bool:
    return subprocess.run(command, cwd=HERE).returncode == 0


def run_nvrtc(path: str, command: list[str]) -> bool:
    """``nvrtc VERSION option... SOURCE -o OUTPUT`` with the library at ``path``, if it has that
    version; whether that succeeded."""
    version, *options, source, _, output = command[1:]
    library = ctypes.CDLL(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if version != f"{major.value}.{minor.value}":
        return True
    os.chdir("/")
    program = ctypes.c_void_p()
    text = (HERE / source).read_bytes()
    library.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), 0, None, None)
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), given)
    log = nvrtc_text(library, "ProgramLog", program)
    if failed:
        print(log.decode(), file=sys.stderr)
        return False
    (HERE / output).write_bytes(nvrtc_text(library, "PTX", program))
    return True


def nvrtc_text(library: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.value


if __name__ == "__main__":
    sys.exit(main())
