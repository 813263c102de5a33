"""Why a running process is not recorded, and how its program is.

A library that is loaded later is not called: the addresses of malloc and free are bound already, in
tables and in pointers that the program keeps. Objects from before would be missing from the peak.
So the program has to start again. A service is recorded by its environment, without `tau` as its
parent.
"""

import contextlib
import re
import shlex
from pathlib import Path

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.record import launch, merge, processes, recordings, session
from tautochrone.record.program import EXIT_CANNOT_RECORD

# A service may not see the folder that tau is installed in.
SERVICE_LIBRARY = Path("/usr/local/lib") / session.RECORDER
SERVICE = re.compile(r":/system\.slice/(?:.*/)?([^/\n]+\.service)(?:/|$)", re.MULTILINE)
STATE = "tautochrone"  # a folder that systemd makes for the service's user


def refusal(pid: int) -> TauError:
    """The error for a process: why not, and what to do instead."""
    process = processes.find(pid)
    if process is None:
        return TauError(f"no process has the pid {pid}", "see `ps -e`", EXIT_CANNOT_RECORD)
    cause = (
        f"cannot record {process}, which already runs: it would not call a recorder that is loaded "
        "now, and its peak would lack the objects from before"
    )
    service = _service(pid)
    if not service:
        command = _text(pid, "cmdline").split("\0")[:-1]
        again = shlex.join(command) if command else "PROGRAM"
        return TauError(cause, f"start it again: tau record -- {again}", EXIT_CANNOT_RECORD)
    lines = [
        f"cp {shlex.quote(str(native.DIRECTORY / session.RECORDER))} {SERVICE_LIBRARY.parent}/",
        f"systemctl edit {service}    # with these lines:",
        *drop_in(processes.seccomp_filters(pid)).splitlines(),
    ]
    step = (
        "restart the service, let it work, and stop it; then, in an empty folder: "
        f"{recordings.import_step(Path('/var/lib') / STATE, merge.RAW_SUFFIX)}"
    )
    return TauError(cause, step, EXIT_CANNOT_RECORD, said="\n".join(lines))


def drop_in(filters: int) -> str:
    """The lines that record all processes of a service. systemd puts up to FILTERS seccomp filters
    on it, which must allow the recorder's calls, as @system-service does.
    """
    value = session.recorder_words(f"%S/{STATE}", 0, merge.ticks_per_second(), filters, 0)
    preset = " ".join(f"{name}={value}" for name, value in launch.PRESET.items())
    return (
        f"[Service]\nStateDirectory={STATE}\nEnvironment=LD_PRELOAD={SERVICE_LIBRARY}\n"
        f'Environment="{session.VARIABLE}={value}"\nEnvironment={preset}\n'
    )


def _service(pid: int) -> str:
    """The service of the system that a process belongs to; empty if to none."""
    found = SERVICE.search(_text(pid, "cgroup"))
    return found[1] if found else ""


def _text(pid: int, name: str) -> str:
    """A file of a process; empty if it cannot be read."""
    with contextlib.suppress(OSError):
        return (processes.PROC / str(pid) / name).read_bytes().decode(errors="replace")
    return ""
