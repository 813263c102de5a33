"""The command `tau`, also as `python -m tautochrone`."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command.

    While its modules load, nothing has begun that needs cleaning up: Ctrl-C ends the process at
    once. The command itself stops with a message.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tautochrone import cli

    cli.main()


if __name__ == "__main__":
    main()
