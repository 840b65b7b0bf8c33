"""Runs scripts of this folder in forks of one process, so that each need not import PyTorch and transformers again.

Called by `python script_server.py SOCKET`. It ends when its standard input does. A connection sends one line of JSON,
["SCRIPT", "REQUEST.json", "RESPONSE.json"], and gets the error as text, or nothing. If it is closed, the script ends.
"""

import json
import os
import runpy
import socketserver
import sys
import threading
import traceback

import peft  # noqa: F401
import torch  # noqa: F401
import transformers  # noqa: F401
from transformers.models.auto.modeling_auto import AutoModelForCausalLM  # noqa: F401


def end_with(file: int) -> None:
    """Ends this process when the other end of a file is closed."""

    def watch() -> None:
        os.read(file, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Script(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        arguments = json.loads(self.rfile.readline())
        end_with(self.connection.fileno())
        sys.argv = arguments
        try:
            runpy.run_path(arguments[0], run_name="__main__")
        except BaseException:
            self.wfile.write(traceback.format_exc().encode())


class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    pass


if __name__ == "__main__":
    with Server(sys.argv[1], Script) as server:
        end_with(sys.stdin.fileno())
        print("ready", flush=True)
        server.serve_forever()
