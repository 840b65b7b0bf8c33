"""Token ids of conversations by transformers' apply_chat_template.

Request: {"jobs": [{"tokenizer": folder, "chats": [{"messages", "tools"?}]}]}, messages and tools in the form that
transformers takes; each chat is rendered as a prompt for the assistant's next message.
Response: {"jobs": [[{"ids", "text"} or {"error"}]]}.
"""

from contract import answer
from transformers import AutoTokenizer


def run_job(job: dict) -> list[dict]:
    tokenizer = AutoTokenizer.from_pretrained(job["tokenizer"])

    def render(chat: dict) -> dict:
        options = {"tools": chat.get("tools"), "add_generation_prompt": True}
        try:
            text = tokenizer.apply_chat_template(chat["messages"], tokenize=False, **options)
            ids = tokenizer.apply_chat_template(chat["messages"], tokenize=True, return_dict=False, **options)
        except Exception as error:
            return {"error": str(error)}
        return {"text": text, "ids": ids}

    return [render(chat) for chat in job["chats"]]


def run(request: dict) -> dict:
    return {"jobs": [run_job(job) for job in request["jobs"]]}


if __name__ == "__main__":
    answer(run)
