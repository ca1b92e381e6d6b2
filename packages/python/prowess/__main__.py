"""``python -m prowess``: the command that the package carries."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator


def _places() -> Iterator[str]:
    """The folders in which an installation may have put the command."""
    yield sysconfig.get_path("scripts")
    # As `pip install --user` and `pip install --target` do.
    yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(os.path.dirname(package), "bin")


def command() -> str:
    """The path of the command ``prowess``.

    Raises:
        FileNotFoundError: If the package was installed without it.
    """
    name = "prowess.exe" if os.name == "nt" else "prowess"
    places = list(_places())
    for place in places:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"there is no command {name} in {', '.join(places)}; install the wheel of prowess again")


def main() -> None:
    """Runs the command with the arguments of this process."""
    try:
        program = command()
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    if os.name == "nt":
        sys.exit(subprocess.run([program, *sys.argv[1:]], check=False).returncode)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
