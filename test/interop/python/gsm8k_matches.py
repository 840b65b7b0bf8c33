"""What lm-evaluation-harness makes of outputs for its task `gsm8k`, by its own configuration and code.

Request: a list of {"text", "answer"}, the reference as the data set has it. Response: for each, by the name of the
filter, {"extracted", "match"}.
"""

from importlib.resources import files

import yaml
from contract import answer
from lm_eval.api.metrics import exact_match_hf_evaluate
from lm_eval.filters.extraction import RegexFilter

task = yaml.safe_load((files("lm_eval") / "tasks" / "gsm8k" / "gsm8k.yaml").read_text(encoding="utf-8"))
(metric,) = task["metric_list"]
settings = {key: metric[key] for key in ("regexes_to_ignore", "ignore_case", "ignore_punctuation")}


def filters():
    for entry in task["filter_list"]:
        first, second = entry["filter"]
        assert first["function"] == "regex" and second["function"] == "take_first"
        options = {key: value for key, value in first.items() if key != "function"}
        yield entry["name"], RegexFilter(**options)


def matches(request):
    results = [{} for _ in request]
    for name, regex in filters():
        extracted = regex.apply([[one["text"]] for one in request], [{} for _ in request])
        for one, (found,), result in zip(request, extracted, results, strict=True):
            score = exact_match_hf_evaluate(predictions=[found], references=[one["answer"]], **settings)
            result[name] = {"extracted": found, "match": bool(score["exact_match"])}
    return results


answer(matches)
