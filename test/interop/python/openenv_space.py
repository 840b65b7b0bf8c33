"""Reads the folder of a Space by OpenEnv's own tools, and plays an episode by the client that they find in it."""

import pathlib
import subprocess
import sys
import tempfile

import contract
import huggingface_hub
from openenv.cli._cli_utils import validate_env_structure
from openenv.cli.commands import push


def run(request):
    folder = pathlib.Path(request["folder"])
    result = {"warnings": validate_env_structure(folder)}
    result["name"], result["manifest"] = push._validate_openenv_directory(folder)
    with tempfile.TemporaryDirectory() as staging:
        push._prepare_staging_directory(folder, result["name"], pathlib.Path(staging), [])
        card = huggingface_hub.metadata_load(pathlib.Path(staging) / "README.md")
        result["dockerfile"] = (pathlib.Path(staging) / "Dockerfile").read_text()
    result["card"] = card
    validated = subprocess.run(
        [sys.executable, "-m", "openenv.cli", "validate", str(folder), "--level", "static", "--skip-build"],
        capture_output=True,
        text=True,
    )
    result["validated"] = [validated.returncode, validated.stdout]

    sys.path.insert(0, str(folder))
    import client
    from lyceum_number_guessing.models import NumberGuessingAction

    with client.NumberGuessingClient(request["url"], token=request["token"]).sync() as session:
        first = session.reset(index=0)
        step = session.step(NumberGuessingAction(text="50"))
        result["played"] = [first.observation.text, step.observation.text]
    return result


if __name__ == "__main__":
    contract.answer(run)
