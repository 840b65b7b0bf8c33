"""Token ids of texts, and the texts of token ids, by transformers.

Request: {"jobs": [{"tokenizer": folder, "ids": [[id]]}], "texts": [text]}; no special token is added around a text.
Response: {"jobs": [{"encoded": [[id]], "decodedTexts": [text], "decodedIds": [text]}]}: decoded with special tokens
kept.
"""

from contract import answer
from transformers import AutoTokenizer


def run_job(job: dict, texts: list[str]) -> dict:
    tokenizer = AutoTokenizer.from_pretrained(job["tokenizer"])
    encoded = [tokenizer.encode(text, add_special_tokens=False) for text in texts]

    def decode(ids: list[int]) -> str:
        return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    return {
        "encoded": encoded,
        "decodedTexts": [decode(ids) for ids in encoded],
        "decodedIds": [decode(ids) for ids in job["ids"]],
    }


def run(request: dict) -> dict:
    return {"jobs": [run_job(job, request["texts"]) for job in request["jobs"]]}


if __name__ == "__main__":
    answer(run)
