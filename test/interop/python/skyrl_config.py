"""Reads start commands of SkyRL's server by SkyRL's own classes: the options of its API, and the config of its workers."""

import argparse
import dataclasses
from pathlib import Path

from contract import answer


def value_at(config, path: str):
    for name in path.split("."):
        config = config[name] if isinstance(config, dict) else getattr(config, name)
    return dataclasses.asdict(config) if dataclasses.is_dataclass(config) else config


def handle(request: dict) -> dict:
    import skyrl
    from skyrl.tinker.config import EngineConfig, add_model
    from skyrl.train.config import SkyRLTrainConfig

    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_model(parser, EngineConfig)
    # The two options that skyrl.tinker.api adds itself, as its source shows.
    source = Path(skyrl.__path__[0], "tinker/api.py").read_text()
    for option in ("--host", "--port"):
        assert f'add_argument("{option}"' in source, option
        parser.add_argument(option)
    read = []
    for words in request["commands"]:
        options = vars(parser.parse_args(words))
        EngineConfig(**{name: value for name, value in options.items() if name in EngineConfig.model_fields})
        # As SkyRL's backend does: the strategy is the name of the backend.
        overrides = {**options["backend_config"], "trainer.strategy": options["backend"]}
        overrides["trainer.policy.model.path"] = options["base_model"]
        config = SkyRLTrainConfig.from_cli_overrides(overrides)
        read.append(
            {
                "backend": options["backend"],
                "model": config.trainer.policy.model.path,
                "config": {key: value_at(config, key) for key in options["backend_config"]},
            }
        )
    refused = []
    for key, value in request["wrong"]:
        try:
            SkyRLTrainConfig.from_cli_overrides({key: value})
        except Exception as error:
            refused.append(f"{type(error).__name__}: {error}")
    return {"read": read, "refused": refused}


answer(handle)
