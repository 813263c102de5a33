"""A process that has imported the command once, and forks for each call of it.

    python testing/command_server.py DESCRIPTOR

Reads requests from a socket: JSON with words, cwd, env and a limit of the address space, and three
descriptors that become the call's stdin, stdout and stderr. Answers with the call's process ID,
then with its wait status.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import resource
import socket
import sys
import traceback
from typing import Any, NoReturn

REQUEST_BYTES_MAX = 150_000


def import_all() -> None:
    """Import every module of the command, with the libraries that these load when needed."""
    package = importlib.import_module("tautochrone")
    for module in pkgutil.walk_packages(package.__path__, "tautochrone."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("elftools.elf.elffile", "capstone"):
        importlib.import_module(name)


def call(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Be the command, as `python -m tautochrone WORDS…` would."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["tau", *request["words"]]
    if limit := request.get("address_bytes_max"):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    status = 1
    try:
        importlib.import_module("tautochrone.cli").main()
        status = 0
    except SystemExit as ended:
        if ended.code is not None and not isinstance(ended.code, int):
            print(ended.code, file=sys.stderr)
        else:
            status = ended.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        atexit._run_exitfuncs()
        os._exit(status)


def serve(connection: socket.socket) -> None:
    """Answer one request after the other until the other side is closed."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, REQUEST_BYTES_MAX, 3)
        if not request:
            return
        child = os.fork()
        if child == 0:
            connection.close()
            call(json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(child).encode())
        connection.send(str(os.waitpid(child, 0)[1]).encode())


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file
    import_all()
    gc.freeze()  # children share the imported modules
    serve(socket.socket(fileno=int(sys.argv[1])))
