"""Lists, loads, downloads and deletes checkpoints of `lyceum serve-model` by the official SDK."""

import io
import os
import pathlib
import subprocess
import sys
import tarfile
import urllib.request

import tinker
from contract import answer
from tinker import types

TOKENS = [1, 5, 9, 2, 7, 3, 8, 4]


def tensor(values, dtype):
    return types.TensorData(data=values, dtype=dtype, shape=[len(values)])


def example():
    inputs = {"target_tokens": tensor(TOKENS[1:], "int64"), "weights": tensor([1.0] * 7, "float32")}
    return types.Datum(model_input=types.ModelInput.from_ints(TOKENS[:-1]), loss_fn_inputs=inputs)


def resolved(client):
    return client.result() if hasattr(client, "result") else client


def logprobs(training):
    return training.forward([example()], "cross_entropy").result().loss_fn_outputs[0]["logprobs"].tolist()


def step(training):
    training.forward_backward([example()], "cross_entropy").result()
    training.optim_step(types.AdamParams(learning_rate=1e-2)).result()


def archive_names(rest, path):
    if not hasattr(rest, "get_checkpoint_archive_url_from_tinker_path"):
        return []
    link = rest.get_checkpoint_archive_url_from_tinker_path(path).result()
    with urllib.request.urlopen(link.url, timeout=60) as response:
        return tarfile.open(fileobj=io.BytesIO(response.read())).getnames()


def command_line(request, folder, *words):
    """Runs the SDK's own command line against the server."""
    environment = {**os.environ, "TINKER_BASE_URL": request["url"], "TINKER_API_KEY": request["key"]}
    command = [sys.executable, "-m", "tinker.cli", *words]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=200)


def downloads(request, training, path):
    """The files that `tinker checkpoint download` writes for a state and for external weights. None for older SDKs."""
    if not hasattr(training, "save_weights_external"):
        return None
    external = training.save_weights_external("e", ttl_seconds=3600).result().path
    for each in (path, external):
        command_line(request, request["folder"], "checkpoint", "download", each)
    folders = [each.replace("tinker://", "").replace("/", "_") for each in (path, external)]
    return [sorted(os.listdir(pathlib.Path(request["folder"]) / folder)) for folder in folders], folders


def run(request):
    service = tinker.ServiceClient(base_url=request["url"], api_key=request["key"])
    options = {"base_model": request["model"], "rank": 4, "train_mlp": False}
    training = resolved(service.create_lora_training_client(**options))
    for _ in range(3):
        step(training)
    path = training.save_state("a").result().path
    sampler_path = training.save_weights_for_sampler("s").result().path
    saved = logprobs(training)
    step(training)
    continued = logprobs(training)
    whole = resolved(service.create_training_client_from_state_with_optimizer(path))
    step(whole)
    weights = resolved(service.create_training_client_from_state(path))
    rest = service.create_rest_client()
    run_id = path.split("/")[2]
    listed = lambda: [entry.checkpoint_id for entry in rest.list_checkpoints(run_id).result().checkpoints]
    info = rest.get_weights_info_by_tinker_path(path).result()
    result = {
        "saved": saved,
        "continued": continued,
        "withOptimizer": logprobs(whole),
        "weightsOnly": logprobs(weights),
        "info": {"lora_rank": info.lora_rank, "is_lora": info.is_lora, "train_mlp": info.train_mlp},
        "runs": [entry.training_run_id for entry in rest.list_training_runs().result().training_runs],
        "checkpoints": listed(),
        "archive": archive_names(rest, sampler_path),
    }
    if hasattr(training, "save_weights_external"):
        result["downloads"] = downloads(request, training, path)
        left = listed()
        assert left == ["weights/a", "sampler_weights/s", "external_weights/e"], left
        external = f"tinker://{run_id}/external_weights/e"
        rest.set_checkpoint_ttl_from_tinker_path(external, None).result()
        rest.delete_checkpoint_from_tinker_path(external).result()
    assert rest.get_training_run(run_id).result().lora_rank == 4
    assert len(rest.list_user_checkpoints().result().checkpoints) == 2
    rest.delete_checkpoint_from_tinker_path(path).result()
    return {**result, "left": listed()}


answer(run)
