"""Reads start commands of SkyRL's server by SkyRL's own classes: the options of its API, and the config of its workers."""

import argparse
import dataclasses
from pathlib import Path

from contract import answer


def value_at(config, path: str):
    for name in path.split("."):
        config = config[name] if isinstance(config, dict) else getattr(config, name)
    return dataclasses.asdict(config) if dataclasses.is_dataclass(config) else config


def config_of(overrides: dict):
    """Builds the two sections that workers read, as SkyRL's own from_cli_overrides does. The rest of it needs torch."""
    from omegaconf import OmegaConf
    from skyrl.train.config.config import GeneratorConfig, TrainerConfig, build_nested_dataclass

    words = [f"{key}=null" if value is None else f"{key}={value}" for key, value in overrides.items()]
    sections = OmegaConf.to_container(OmegaConf.from_cli(words))
    return argparse.Namespace(
        trainer=build_nested_dataclass(TrainerConfig, sections.get("trainer", {})),
        generator=build_nested_dataclass(GeneratorConfig, sections.get("generator", {})),
    )


def handle(request: dict) -> dict:
    import skyrl
    from skyrl.tinker.config import EngineConfig, add_model

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
        config = config_of(overrides)
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
            config_of({key: value})
        except Exception as error:
            refused.append(f"{type(error).__name__}: {error}")
    return {"read": read, "refused": refused}


answer(handle)
