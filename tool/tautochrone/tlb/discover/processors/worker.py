"""The process that measures this machine: pinned to a CPU, with pages at addresses of its choice.

Prints the document as JSON, or the error. It is a process of its own so that these addresses are
free, and so that the machine may kill it without harm.
"""

import json
import os
import sys

from tautochrone.errors import TauError
from tautochrone.tlb.discover.document import document_of
from tautochrone.tlb.discover.meter import Limit
from tautochrone.tlb.discover.procedure import discover
from tautochrone.tlb.discover.processors.host import Host


def main(cpu: int, seed: int, cpu_seconds_max: float) -> None:
    """Measure, and print."""
    try:
        os.sched_setaffinity(0, {cpu})
        host = Host(seed)
        found = discover(host, seed, Limit(cpu_seconds=cpu_seconds_max))
        result = {"document": document_of(found, host.facts)}
    except TauError as error:
        result = {"error": error.message, "next_step": error.next_step or ""}
    except OSError as error:
        result = {"error": f"the process cannot run on CPU {cpu}: {error}", "next_step": ""}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
