import type { JSX } from "preact";
import type { Reward } from "../../../src/contract/reward.ts";
import { formatNumber } from "../../../src/core/text/format-numbers.ts";
import { Text } from "./parts.tsx";

/** A reward with its components, or the reason why it is unscored. */
export function RewardView({ reward }: { readonly reward: Reward }): JSX.Element {
  if (reward.status === "unscored") {
    const { reason, error } = reward;
    return (
      <div class="problem">
        {error !== undefined && (
          <b>
            <Text>{`${error.code} `}</Text>
          </b>
        )}
        unscored: <Text>{reason}</Text>
        {error !== undefined && error.message !== reason && (
          <p>
            <Text>{error.message}</Text>
          </p>
        )}
      </div>
    );
  }
  const components = Object.entries(reward.components);
  return (
    <table class="reward">
      <tbody>
        {components.map(([name, value]) => (
          <tr key={name}>
            <td>
              <Text>{name}</Text>
            </td>
            <td class="number">{formatNumber(value)}</td>
          </tr>
        ))}
        <tr class="total">
          <td>total</td>
          <td class="number">
            <b>{formatNumber(reward.value)}</b>
          </td>
        </tr>
      </tbody>
    </table>
  );
}
