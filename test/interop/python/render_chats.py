"""Token ids of conversations by transformers' apply_chat_template.

Request: {"tokenizer": folder, "chats": [{"messages", "tools"?, "addGenerationPrompt"}]}, messages and tools in the
form that transformers takes. Response: {"chats": [{"ids", "text"} or {"error"}]}.
"""

from contract import answer
from transformers import AutoTokenizer


def run(request: dict) -> dict:
    tokenizer = AutoTokenizer.from_pretrained(request["tokenizer"])

    def render(chat: dict) -> dict:
        options = {"tools": chat.get("tools"), "add_generation_prompt": chat["addGenerationPrompt"]}
        try:
            text = tokenizer.apply_chat_template(chat["messages"], tokenize=False, **options)
            ids = tokenizer.apply_chat_template(chat["messages"], tokenize=True, return_dict=False, **options)
        except Exception as error:
            return {"error": str(error)}
        return {"text": text, "ids": ids}

    return {"chats": [render(chat) for chat in request["chats"]]}


if __name__ == "__main__":
    answer(run)
