"""Plays a conversation with one tool by the official SDKs, and reads records by OpenEnv's own classes."""

import json

import anthropic
import openai
from contract import answer

SYSTEM = "Use the tool."
QUESTION = "1 + 2?"
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}


def add(values):
    return str(values["a"] + values["b"])


def chat(url, key, stream):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    tools = [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": PARAMETERS}}]
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    texts, finishes, sampled = [], [], 0
    while True:
        asked = {"model": "m", "messages": messages, "tools": tools, "max_tokens": 64}
        if stream:
            with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
                for _ in events:
                    pass
                completion = events.get_final_completion()
        else:
            completion = client.chat.completions.create(**asked)
        [choice] = completion.choices
        sampled += completion.usage.completion_tokens
        texts.append(choice.message.content)
        finishes.append(choice.finish_reason)
        if not choice.message.tool_calls:
            return texts, finishes, sampled
        messages.append(choice.message.model_dump(exclude_none=True, exclude={"parsed": True}))
        for call in choice.message.tool_calls:
            result = add(json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def responses(url, key, stream, *, by_id=False):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    tools = [{"type": "function", "name": "add", "description": "Adds.", "parameters": PARAMETERS, "strict": False}]
    items = [{"role": "user", "content": QUESTION}]
    previous = openai.NOT_GIVEN
    texts, finishes, sampled = [], [], 0
    while True:
        asked = {
            "model": "m",
            "instructions": SYSTEM,
            "input": items,
            "tools": tools,
            "max_output_tokens": 64,
            "previous_response_id": previous,
        }
        if stream:
            with client.responses.stream(**asked) as events:
                for _ in events:
                    pass
                response = events.get_final_response()
        else:
            response = client.responses.create(**asked)
        sampled += response.usage.output_tokens
        texts.append(response.output_text or None)
        finishes.append(response.status)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return texts, finishes, sampled
        results = [
            {"type": "function_call_output", "call_id": call.call_id, "output": add(json.loads(call.arguments))}
            for call in calls
        ]
        if by_id:
            previous, items = response.id, results
        else:
            items = items + [item.model_dump(exclude_none=True) for item in response.output] + results


def messages(url, key, stream):
    client = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)
    tools = [{"name": "add", "description": "Adds.", "input_schema": PARAMETERS}]
    turns = [{"role": "user", "content": QUESTION}]
    texts, finishes, sampled = [], [], 0
    count = client.messages.count_tokens(model="m", system=SYSTEM, messages=turns, tools=tools)
    assert count.input_tokens > 0
    while True:
        asked = {"model": "m", "system": SYSTEM, "messages": turns, "tools": tools, "max_tokens": 64}
        if stream:
            with client.messages.stream(**asked) as events:
                for _ in events:
                    pass
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
        sampled += message.usage.output_tokens
        texts.append("".join(block.text for block in message.content if block.type == "text") or None)
        finishes.append(message.stop_reason)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return texts, finishes, sampled
        turns.append({"role": "assistant", "content": [block.model_dump() for block in message.content]})
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": add(call.input)} for call in calls]
        turns.append({"role": "user", "content": results})


def refused(url, key):
    """The class and status of the error for a feature that is not supported, and for a wrong key, by each SDK."""
    found = []
    for api_key in [key, "wrong"]:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key=api_key, max_retries=0)
        other = anthropic.Anthropic(base_url=url, api_key=api_key, max_retries=0)
        tool = {"name": "add", "input_schema": PARAMETERS}
        question = [{"role": "user", "content": QUESTION}]
        for call in [
            lambda: client.chat.completions.create(model="m", messages=question, n=2),
            lambda: client.responses.create(model="m", input=QUESTION, background=True),
            lambda: other.messages.create(
                model="m", messages=question, max_tokens=1, tools=[tool], tool_choice={"type": "any"}
            ),
        ]:
            try:
                call()
                found.append("answered")
            except (openai.APIStatusError, anthropic.APIStatusError) as error:
                found.append(f"{type(error).__module__.split('.')[0]} {type(error).__name__} {error.status_code}")
    return found


def play(request):
    url = request["url"]
    styles = {
        "chat": lambda key: chat(url, key, False),
        "chat-stream": lambda key: chat(url, key, True),
        "responses": lambda key: responses(url, key, False),
        "responses-stream": lambda key: responses(url, key, True),
        "responses-by-id": lambda key: responses(url, key, False, by_id=True),
        "messages": lambda key: messages(url, key, False),
        "messages-stream": lambda key: messages(url, key, True),
    }
    played = {}
    for name, key in request["keys"].items():
        texts, finishes, sampled = styles[name](key)
        played[name] = {"texts": texts, "finishes": finishes, "sampled": sampled}
    return {"played": played, "refused": refused(url, request["refusedKey"])}


def read(request):
    """Reads sessions of an own server over HTTP, as a trainer does, and validates them by OpenEnv's classes."""
    import httpx
    from openenv.core.harness.capture.graph import TrainingSequence
    from openenv.core.harness.capture.validate import check_sequence
    from openenv.core.harness.training import TrainingTrace

    http = httpx.Client(base_url=request["url"], headers={"Authorization": f"Bearer {request['adminKey']}"})
    opened = http.post("/sessions", json={"purpose": "train", "metadata": {"task": "t"}}).json()
    key = opened["session_id"]
    texts, _, _ = chat(request["url"], key, True)
    entries = http.get(f"/sessions/{key}/trace_entries").json()["entries"]
    trace = TrainingTrace.from_entries(entries)
    document = http.get(f"/sessions/{key}/rollout").json()
    problems = []
    for row in document["sequences"]:
        fields = {name: row[name] for name in TrainingSequence.__dataclass_fields__}
        sequence = TrainingSequence(**fields)
        problems += [str(finding) for finding in check_sequence(sequence).fatal]
        assert sequence.turn_lengths() == row["turn_lengths"]
        assert sequence.n_trainable == row["n_trainable"]
    deleted = http.delete(f"/sessions/{key}").json()
    return {
        "opened": opened,
        "texts": texts,
        "turns": len(trace.turns),
        "same": trace.to_trace_entries() == entries,
        "problems": problems,
        "trainable": document["trainable"],
        "deleted": deleted["deleted"],
    }


answer(lambda request: {"play": play, "read": read}[request["action"]](request))
