"""The command `tau`, also as `python -m tautochrone`."""

# Built into Python: `signal` is a file, and Ctrl-C while it is read would print a traceback.
import _signal
import errno
import sys

from tautochrone import OUT_OF_MEMORY


def main() -> None:
    """Run the command.

    While its modules load, nothing has begun that needs cleaning up: Ctrl-C ends the process at
    once. The command itself stops with a message.
    """
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    try:
        from tautochrone import cli
    except (MemoryError, SystemError, OSError) as error:
        # Without memory, Python may also lose the error while it imports, or list no folder.
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        sys.exit("tau: {}\n  next: {}".format(*OUT_OF_MEMORY))
    cli.main()


if __name__ == "__main__":
    main()
