"""Calls every rpc of a Lyceum gRPC server with a client that grpcio-tools generates from the published .proto files."""

import importlib
import os
import sys
import tempfile

import contract
import grpc
from google.protobuf import json_format, struct_pb2
from grpc_tools import protoc

FILES = ["lyceum/v1/messages.proto", "lyceum/v1/environment.proto", "lyceum/v1/model.proto", "grpc/health/v1/health.proto"]


def generate(protos):
    folder = tempfile.mkdtemp()
    well_known = os.path.join(os.path.dirname(protoc.__file__), "_proto")
    # The health service comes from grpcio's own package: Python has a package "grpc" already.
    code = protoc.main(
        ["protoc", f"-I{protos}", f"-I{well_known}", f"--python_out={folder}", f"--grpc_python_out={folder}", *FILES[:3]]
    )
    assert code == 0
    sys.path.insert(0, folder)


def plain(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def run(request):
    generate(request["protos"])
    environment = importlib.import_module("lyceum.v1.environment_pb2")
    environment_grpc = importlib.import_module("lyceum.v1.environment_pb2_grpc")
    messages = importlib.import_module("lyceum.v1.messages_pb2")
    model = importlib.import_module("lyceum.v1.model_pb2")
    model_grpc = importlib.import_module("lyceum.v1.model_pb2_grpc")
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    channel = grpc.insecure_channel(request["address"])
    metadata = [("authorization", f"Bearer {request['token']}")]
    environments = environment_grpc.EnvironmentServiceStub(channel)
    models = model_grpc.ModelServiceStub(channel)
    health = health_pb2_grpc.HealthStub(channel)
    options = {"metadata": metadata, "timeout": 30}

    def say(text):
        part = messages.Part(text=text)
        return messages.Action(message=messages.Message(role="assistant", content=[part]), finish="stop")

    result = {}
    result["health"] = health_pb2.HealthCheckResponse.ServingStatus.Name(health.Check(health_pb2.HealthCheckRequest()).status)
    watch = health.Watch(health_pb2.HealthCheckRequest(service="lyceum.v1.ModelService"))
    result["watched"] = health_pb2.HealthCheckResponse.ServingStatus.Name(next(watch).status)
    watch.cancel()
    result["ready"] = environments.Health(environment.HealthRequest()).ready
    listed = environments.ListEnvironments(environment.ListEnvironmentsRequest(), **options).environments
    result["environments"] = [plain(each) for each in listed]
    tasks = environments.ListTasks(environment.ListTasksRequest(split="train", start=0, stop=3), **options).tasks
    result["tasks"] = [plain(each) for each in tasks]

    started = environments.Reset(environment.ResetRequest(seed=5, index=1), **options)
    result["reset"] = plain(started)
    step = environment.StepRequest(session_id=started.session_id, step_id="1", actions={agent: say("An argument.") for agent in started.observations})
    first = environments.Step(step, **options)
    result["step"] = plain(first)
    result["repeated"] = plain(environments.Step(step, **options)) == result["step"]
    result["state"] = plain(environments.GetState(environment.GetStateRequest(session_id=started.session_id), **options))

    others = [environments.Reset(environment.ResetRequest(seed=seed), **options) for seed in (1, 2)]

    def stepped(session, observations):
        return environment.StepRequest(session_id=session, step_id="s", actions={agent: say("Yes.") for agent in observations})

    batch = environments.BatchStep(
        environment.BatchStepRequest(requests=[stepped(other.session_id, other.observations) for other in others] + [stepped("guess", ["x"])]),
        **options,
    )
    result["batch"] = [outcome.WhichOneof("result") for outcome in batch.outcomes]
    result["batch_error"] = batch.outcomes[2].error.code
    more = [environment.StreamStepRequest(request=environment.StepRequest(
        session_id=other.session_id,
        step_id="t",
        actions={agent: say("No.") for agent in outcome.response.observations},
    )) for other, outcome in zip(others, batch.outcomes)]
    result["stream"] = [
        each.outcome.WhichOneof("result") for each in environments.StreamStep(iter(more), **options)
    ]
    for session in [started.session_id] + [other.session_id for other in others]:
        environments.Close(environment.CloseRequest(session_id=session), **options)

    errors = {}
    for name, call in {
        "closed": lambda: environments.Step(step, **options),
        "token": lambda: environments.ListEnvironments(environment.ListEnvironmentsRequest(), timeout=30),
        "index": lambda: environments.Reset(environment.ResetRequest(index=10**6), **options),
    }.items():
        try:
            call()
        except grpc.RpcError as error:
            detail = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
            errors[name] = [error.code().name, b"lyceum.v1.Error" in detail]
    result["errors"] = errors

    arguments = struct_pb2.Value()
    json_format.ParseDict({"type": "object"}, arguments)
    question = model.GenerateRequest(
        messages=[messages.Message(role="user", content=[messages.Part(text="Hi.")])],
        tools=[messages.ToolSpec(name="look", description="Looks.", parameters=arguments)],
        sampling=model.SamplingSettings(temperature=0, max_tokens=7),
        seed=3,
    )
    result["models"] = [plain(each) for each in models.ListModels(model.ListModelsRequest(), **options).models]
    result["generate"] = plain(models.Generate(question, **options))
    outcomes = models.BatchGenerate(model.BatchGenerateRequest(requests=[question, model.GenerateRequest()]), **options)
    result["generated"] = [outcome.WhichOneof("result") for outcome in outcomes.outcomes]
    events = list(models.StreamGenerate(model.StreamGenerateRequest(request=question), **options))
    result["streamed"] = [event.WhichOneof("event") for event in events]
    return result


if __name__ == "__main__":
    contract.answer(run)
