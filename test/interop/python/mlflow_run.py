"""What MLflow's own client reads of a run from a server. Request: {"url", "experiment"}. Response: the experiment's
runs, each {"id", "name", "status", "params", "tags", "metrics": {key: [[step, value]]}}, the oldest first."""

import math

from contract import answer
from mlflow.tracking import MlflowClient


def number(value):
    return value if math.isfinite(value) else str(value)


def read(request):
    client = MlflowClient(tracking_uri=request["url"])
    experiment = client.get_experiment_by_name(request["experiment"])
    runs = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    return [
        {
            "id": run.info.run_id,
            "name": run.info.run_name,
            "status": run.info.status,
            "params": run.data.params,
            "tags": run.data.tags,
            "metrics": {
                key: sorted([point.step, number(point.value)] for point in client.get_metric_history(run.info.run_id, key))
                for key in run.data.metrics
            },
        }
        for run in runs
    ]


answer(read)
