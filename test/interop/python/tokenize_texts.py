"""Token ids of texts, and the texts of token ids, by transformers.

Request: {"tokenizer": folder, "texts": [text], "ids": [[id]]}; no special token is added around a text.
Response: {"encoded": [[id]], "decodedTexts": [text], "decodedIds": [text]}: decoded with special tokens kept.
"""

from contract import answer
from transformers import AutoTokenizer


def run(request: dict) -> dict:
    tokenizer = AutoTokenizer.from_pretrained(request["tokenizer"])
    encoded = [tokenizer.encode(text, add_special_tokens=False) for text in request["texts"]]

    def decode(ids: list[int]) -> str:
        return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    return {
        "encoded": encoded,
        "decodedTexts": [decode(ids) for ids in encoded],
        "decodedIds": [decode(ids) for ids in request["ids"]],
    }


if __name__ == "__main__":
    answer(run)
