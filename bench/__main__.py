"""Runs a bench: `python -m bench NAME [--quick] [OPTIONS] [WORD …]` (runner.py).

NAME is a folder, or FOLDER.FILE for another bench of that folder. A run.py may name PARTS, which
are run too; they get --quick and nothing else.
"""

import importlib
import sys

from bench.commands import ROOT


def main(words: list[str]) -> int:
    """Run the bench that is named; the worst exit status of its parts."""
    known = sorted(path.parent.name for path in (ROOT / "bench").glob("*/run.py"))
    if not words or words[0].split(".")[0] not in known:
        print(f"usage: python -m bench NAME; there are {', '.join(known)}", file=sys.stderr)
        return 2
    name, *arguments = words
    module = importlib.import_module(f"bench.{name}" if "." in name else f"bench.{name}.run")
    quick = [word for word in arguments if word == "--quick"]
    parts = [part.main(quick) for part in getattr(module, "PARTS", ())]
    return max([module.BENCH.main(arguments), *parts])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
