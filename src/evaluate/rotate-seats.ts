import type { AgentId } from "../environment/environment.ts";
import type { Policy } from "../policy/policy.ts";

/** Which player sits in the seat of an agent, by its place among the agents: in each member one seat further. */
export function seatedPlayer(seat: number, options: { readonly member: number; readonly players: number }): number {
  return (seat + options.member) % options.players;
}

/** Policies that take turns in the seats: agent i is played by player i in member 0, by player i + 1 in member 1, ... */
export function rotateSeats(agents: readonly AgentId[], players: readonly Policy[]): Record<AgentId, Policy> {
  const accepts = players[0]!.accepts.filter((type) => players.every((player) => player.accepts.includes(type)));
  const batching = players.filter((player) => player.flush !== undefined);
  const name = players.map((player) => player.name).join(" and ");
  return Object.fromEntries(
    agents.map((agent, seat): [AgentId, Policy] => [
      agent,
      {
        specificationVersion: "v1",
        name,
        accepts,
        act: (request) => {
          const member = request.episode?.member ?? 0;
          return players[seatedPlayer(seat, { member, players: players.length })]!.act(request);
        },
        ...(batching.length === 0 ? {} : { flush: () => batching.forEach((player) => void player.flush!()) }),
      },
    ]),
  );
}
