"""Compiles ``products.c`` when a wheel or an editable install is built, if there is a compiler.

Without one the wheel is pure Python and scipy makes the products. ``python hatch_build.py``
compiles in place.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any
from zlib import crc32

FOLDER = Path(__file__).parent / "src" / "eigenkit" / "numerics" / "compiled"
LIBRARY = FOLDER / "products.so"
FLAGS = ["-O3", "-shared", "-fPIC", "-fvisibility=hidden"]

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand
    BuildHookInterface = object


class Compile(BuildHookInterface):
    """Adds the library to the wheel, which then belongs to one platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if compile_library():
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"
            build_data["pure_python"] = False
            build_data["artifacts"].append(str(LIBRARY.relative_to(Path(__file__).parent)))


def compile_library() -> bool:
    """Whether there is a library now; it appears whole or not at all."""
    LIBRARY.unlink(missing_ok=True)
    compiler = (
        shlex.split(os.environ.get("CC", ""))
        or [found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))][:1]
    )
    if not compiler:
        return False
    part = LIBRARY.with_suffix(f".{os.getpid()}.part")
    source = FOLDER / "products.c"
    # The loader compares this with the text that it finds beside the library.
    mark = f"-DCOMPILED_FROM={crc32(source.read_bytes())}u"
    command = [*compiler, *FLAGS, mark, "-o", str(part), str(source), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True)
        os.replace(part, LIBRARY)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"eigenkit is installed without its compiled product: {error}", file=sys.stderr)
        return False
    finally:
        part.unlink(missing_ok=True)
    return True


if __name__ == "__main__":
    sys.exit(not compile_library())
