"""The one exception that commands raise for what the user or the world did wrong."""

from __future__ import annotations

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_LIMIT_EXCEEDED = 3


class TauError(Exception):
    """A failure with its cause and, where there is one, the next step.

    Message and next step are one line each, whatever names they hold; `said` is what another
    program said of it, in lines. `exit_code` is EXIT_FAILED unless a stated limit was exceeded
    (EXIT_LIMIT_EXCEEDED) or the call itself was wrong (EXIT_USAGE).
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
