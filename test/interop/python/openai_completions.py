"""Asks a model of `lyceum serve-model` by OpenAI's package: texts and chats, whole and streamed, and refused requests."""

import openai
from contract import answer

SETTINGS = {"max_tokens": 6, "temperature": 1.0, "seed": 3, "n": 2}


def as_dict(model):
    return model.model_dump(mode="json", exclude_unset=True)


def streamed_text(stream):
    texts = {}
    pieces = 0
    usage = None
    for event in stream:
        usage = event.usage or usage
        for choice in event.choices:
            piece = choice.delta.content if hasattr(choice, "delta") else choice.text
            pieces += 1 if piece else 0
            texts[choice.index] = texts.get(choice.index, "") + (piece or "")
    return [texts[index] for index in sorted(texts)], as_dict(usage), pieces


def refusal(call):
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code]
    return None


def run(request):
    client = openai.OpenAI(base_url=request["url"] + "/v1", api_key=request["key"], max_retries=0)
    model = request["model"]
    messages = [{"role": "user", "content": "Hi!"}]
    extra = {"return_token_ids": True, "top_k": 50}
    text = dict(model=model, prompt="Hi!", logprobs=1, extra_body=extra, **SETTINGS)
    chat = dict(model=model, messages=messages, logprobs=True, extra_body=extra, **SETTINGS)
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    wrong = openai.OpenAI(base_url=request["url"] + "/v1", api_key="tml-wrong", max_retries=0)
    return {
        "models": [entry.id for entry in client.models.list()],
        "text": as_dict(client.completions.create(**text)),
        "chat": as_dict(client.chat.completions.create(**chat)),
        "textStream": streamed_text(client.completions.create(**text, **streamed)),
        "chatStream": streamed_text(client.chat.completions.create(**chat, **streamed)),
        "refused": [
            refusal(lambda: client.completions.create(model="other", prompt="Hi!")),
            refusal(lambda: client.completions.create(model=model, prompt="x" * 100)),
            refusal(lambda: client.completions.create(model=model, prompt="Hi!", echo=True)),
            refusal(lambda: wrong.completions.create(model=model, prompt="Hi!")),
        ],
    }


answer(run)
