"""How the scripts in this folder are called: `python SCRIPT REQUEST.json RESPONSE.json`.

Whatever a library prints goes to standard output or error and is not part of the answer.
"""

import json
import sys
from collections.abc import Callable


def answer(handler: Callable[[dict], object]) -> None:
    """Reads the request, passes it to `handler` and writes the result as the response."""
    request_path, response_path = sys.argv[1:]
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    response = handler(request)
    with open(response_path, "w", encoding="utf-8") as file:
        json.dump(response, file)
