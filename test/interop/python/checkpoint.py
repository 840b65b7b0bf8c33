"""Loading checkpoints and adapters the way an ordinary user of transformers and peft does."""

import torch
from transformers import AutoModelForCausalLM


def load_model(folder: str, adapter: str | None = None, *, trainable: bool = False) -> torch.nn.Module:
    """The model in a folder as float32, with a PEFT adapter on it where one is named."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    if adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, adapter, is_trainable=trainable)
    return model.eval()


def checkpoint_gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Gradients by checkpoint tensor name; of an adapter, by `<module>.lora_A.weight` and `<module>.lora_B.weight`."""
    return {
        name.removeprefix("base_model.model.").replace(".default.", "."): parameter.grad.contiguous()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
