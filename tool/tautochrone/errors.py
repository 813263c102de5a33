"""The exception that commands raise for a mistake of the user or a failure of the machine."""

from __future__ import annotations

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_LIMIT_EXCEEDED = 3


class TauError(Exception):
    """A failure with its cause and, if there is one, the next step.

    Message and next step are one line each, whatever names they hold. `said` is the output of
    another program, in lines. `exit_code` is EXIT_FAILED, EXIT_LIMIT_EXCEEDED if a limit that the
    user gave was exceeded, or EXIT_USAGE if the command line was wrong.
    """

    def __init__(
        self,
        message: str,
        next_step: str | None = None,
        exit_code: int = EXIT_FAILED,
        said: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.exit_code = exit_code
        self.said = said
