"""What TensorBoard reads from a folder of event files. Request: {"folder"}. Response: {"scalars": {tag: [[step, value]]},
"texts": {tag: [[step, text]]}, "records": how many records TensorFlow's own record reader finds whole}.

NaN and infinities are the strings that Python gives them.
"""

import math
import os

from contract import answer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.util import tensor_util


def number(value):
    return value if math.isfinite(value) else str(value)


def read(request):
    folder = request["folder"]
    events = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    scalars = {
        tag: [[event.step, number(event.value)] for event in events.Scalars(tag)] for tag in tags["scalars"]
    }
    texts = {
        tag: [[event.step, tensor_util.make_ndarray(event.tensor_proto).item().decode()] for event in events.Tensors(tag)]
        for tag in tags["tensors"]
        if events.SummaryMetadata(tag).plugin_data.plugin_name == "text"
    }
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    # This reader checks every checksum, and raises at the first that is wrong.
    records = sum(1 for file in files for _ in RawEventFileLoader(file).Load())
    return {"scalars": scalars, "texts": texts, "records": records}


answer(read)
