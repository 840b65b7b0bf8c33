"""Loading checkpoints and adapters the way an ordinary user of transformers and peft does."""

import torch
from transformers import AutoModelForCausalLM


def load_model(
    folder: str, adapter: str | None = None, *, trainable: bool = False, dtype: torch.dtype = torch.float32
) -> torch.nn.Module:
    """The model in a folder, with a PEFT adapter on it where one is named."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    # transformers cuts the gradient of the padding token's embedding, also where that token ends each turn (SmolLM2).
    model.get_input_embeddings().padding_idx = None
    if adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, adapter, is_trainable=trainable)
    return model.eval()


def checkpoint_gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Gradients by checkpoint tensor name; of an adapter, by `<module>.lora_A.weight` and `<module>.lora_B.weight`.

    Those of parameters that the loss does not depend on are zeros.
    """
    return {
        name.removeprefix("base_model.model.").replace(".default.", "."): (
            torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.contiguous()
        )
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }
