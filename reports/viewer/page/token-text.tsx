import type { JSX } from "preact";
import { visibleText } from "../../../src/core/text/visible-text.ts";

/** A sampled token with its log-probability. */
export interface ShownToken {
  readonly text: string;
  readonly logprob: number;
}

/** Tokens whose background is stronger the less likely they were. The pointer shows the probability. */
export function TokenText({ tokens }: { readonly tokens: readonly ShownToken[] }): JSX.Element {
  return (
    <pre class="tokens">
      {tokens.map(({ text, logprob }, index) => (
        <span
          key={index}
          class="token"
          style={tokenStyle(logprob)}
          title={`${logprob.toFixed(3)}: ${(100 * Math.exp(logprob)).toFixed(1)} %`}
        >
          {visibleText(text)}
        </span>
      ))}
    </pre>
  );
}

/** The background of a token: none for a certain token, full from a probability of 1/400 (e to the -6). */
export function tokenStyle(logprob: number): { readonly backgroundColor: string } {
  const share = Math.round(Math.min(1, Math.max(0, -logprob / 6)) * 100);
  return { backgroundColor: `color-mix(in srgb, var(--unlikely) ${share}%, transparent)` };
}
