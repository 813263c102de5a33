"""A plugin of pytest: signals end what tests start, however the check itself was started."""

import signal

# nohup, and a script's background, make a check ignore these. Whatever a test starts would
# inherit that, and could not be interrupted.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)
