"""Plays an exported environment by PettingZoo's own test of parallel environments, then one episode of equal answers."""

import os
import warnings

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    from lyceum_debate.pettingzoo_env import DebateParallelEnv
    from pettingzoo.test import parallel_api_test

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parallel_api_test(DebateParallelEnv(), num_cycles=60)
    env = DebateParallelEnv()
    observations, _ = env.reset(seed=1, options={"index": 1, "split": request["split"]})
    rewards = dict.fromkeys(env.possible_agents, 0.0)
    rounds = 0
    while env.agents:
        _, step_rewards, *_ = env.step({agent: request["texts"][agent] for agent in env.agents})
        rounds += 1
        for agent, reward in step_rewards.items():
            rewards[agent] += reward
    env.close()
    return {
        "warnings": [str(one.message) for one in caught if "pettingzoo" in str(one.filename)],
        "agents": sorted(observations),
        "rewards": rewards,
        "rounds": rounds,
    }


answer(handle)
