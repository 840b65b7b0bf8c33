"""Plays an exported environment by PettingZoo's own test of parallel environments, and by OpenEnv's client."""

import os
import warnings

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    from lyceum_debate.client import DebateClient
    from lyceum_debate.models import DebateAction
    from lyceum_debate.pettingzoo_env import DebateParallelEnv
    from pettingzoo.test import parallel_api_test

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = DebateParallelEnv()
        parallel_api_test(env, num_cycles=100)
    seen = [str(one.message) for one in caught if "agent" in str(one.message).lower()]
    env.reset(seed=1, options={"index": 1})
    rewards = {}
    while env.agents:
        _, step_rewards, *_ = env.step({agent: request["text"] for agent in env.agents})
        for agent, reward in step_rewards.items():
            rewards[agent] = rewards.get(agent, 0) + reward
    env.close()

    with DebateClient().sync() as client:
        result = client.reset(seed=1, index=1)
        totals = {}
        while not result.done:
            acting = {agent: {"text": request["text"]} for agent in result.observation.observations}
            result = client.step(DebateAction(actions=acting))
            for agent, step in result.observation.agents.items():
                totals[agent] = totals.get(agent, 0) + (step.reward.value or 0 if step.reward else 0)
        steps = client.state().step_count
    return {"warnings": seen, "rewards": rewards, "clientRewards": totals, "steps": steps}


answer(handle)
