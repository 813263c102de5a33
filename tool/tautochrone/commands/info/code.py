"""What `tau info` prints of a code recording."""

from typing import Any

import numpy as np

from tautochrone.coldcode.recording import CodeRecording
from tautochrone.console import output
from tautochrone.console.terminal import in_one_line


def result_of(recording: CodeRecording) -> dict[str, Any]:
    """Return the JSON document. Times are instructions of the kernel."""
    settings, functions = recording.settings, recording.functions
    counted = recording.touches_count()
    return {
        "recording": str(recording.path),
        "file_bytes": recording.path.stat().st_size,
        "settings": settings.document,
        "marker": settings.marker,
        "marker_time": recording.marker_time,
        "end_time": recording.end_time,
        "functions": len(functions.names),
        "blocks": len(recording.blocks),
        "boot": _phase(recording, "boot"),
        "steady": _phase(recording, "steady"),
        "touches": len(recording.touches),
        "touched_functions": int(np.count_nonzero(counted)),
        "touches_max": settings.touches_max,
        "hot_functions": int(np.count_nonzero(counted >= settings.touches_max)),
    }


def _phase(recording: CodeRecording, phase: str) -> dict[str, int]:
    """Return the kernel's executed code in a phase."""
    executed = recording.instructions(phase)
    return {
        "instructions": int(executed.sum()),
        "functions": int(np.count_nonzero(executed)),
        "function_bytes": int(recording.functions.sizes_bytes[executed > 0].sum()),
    }


def print_result(result: dict[str, Any]) -> None:
    """Print the document for people."""
    settings = result["settings"]
    kernel = in_one_line(str(settings.get("kernel", "unknown")))
    print(f"kernel       {kernel}, code {str(settings.get('code_sha256', 'unknown'))[:16]}")
    print(f"recorded     by {in_one_line(str(settings.get('recorder', 'an unnamed writer')))}")
    marker = in_one_line(str(settings.get("marker") or result["marker"]))
    if result["marker"] is None:
        print("marker       none: all of it is steady state")
    elif result["marker_time"] is None:
        print(f"marker       {marker} was not executed: all of it is boot")
    else:
        print(f"marker       {marker}, first executed after {result['marker_time']:,} instructions")
    for phase in ("boot", "steady"):
        part = result[phase]
        counted = output.count(part["functions"], "function")
        print(
            f"{phase:<12} {part['instructions']:,} instructions of the kernel in {counted} of"
            f" {part['function_bytes']:,} bytes"
        )
    print(f"functions    {result['functions']:,}, executed in {result['blocks']:,} blocks")
    hot = output.count(result["hot_functions"], "hot function")
    print(
        f"touches      {result['touches']:,} of {result['touched_functions']:,} functions; {hot}"
        f" with {result['touches_max']:,}, later ones left out"
    )
    print(f"next: tau check {result['recording']}")
