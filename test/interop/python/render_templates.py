"""Texts of chat templates by Jinja, in the environment that transformers makes for them.

Request: {"expressions": [template], "conversations": [variables]}. Renders each expression with the first variables, and
every template of trl's wheel with all of them.
Response: {"expressions": [result], "templates": {name: {"source", "results": [result]}}}; a result is {"text"} or {"error"}.
"""

import datetime
import importlib.util
import json
from pathlib import Path

import jinja2
import jinja2.ext
from contract import answer
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return made


def render(source: str, conversations: list[dict]) -> list[dict]:
    try:
        template = environment().from_string(source)
    except Exception as error:
        return [{"error": f"{type(error).__name__}: {error}"} for _ in conversations]

    def one(variables: dict) -> dict:
        try:
            return {"text": template.render(**variables)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    return [one(variables) for variables in conversations]


def run(request: dict) -> dict:
    conversations = request["conversations"]
    folder = Path(importlib.util.find_spec("trl").submodule_search_locations[0], "chat_templates")
    templates = {}
    for file in sorted(folder.glob("*.jinja")):
        source = file.read_bytes().decode()
        templates[file.stem] = {"source": source, "results": render(source, conversations)}
    return {
        "expressions": [render(source, conversations[:1])[0] for source in request["expressions"]],
        "templates": templates,
    }


if __name__ == "__main__":
    answer(run)
