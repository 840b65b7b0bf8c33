import { LyceumError } from "../../src/contract/errors/index.ts";
import { warn } from "../../src/core/text/warn.ts";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import { WaitNotice } from "./wait-notice.ts";

/** The options of {@link remoteEnvironment}. */
export interface RemoteOptions {
  /** The server's token. By default the value of the environment variable LYCEUM_SERVER_TOKEN, if it is set. */
  readonly token?: string | undefined;
  /** The timeout of connecting in milliseconds. 10,000 by default. */
  readonly connectMs?: number;
  /** The timeout of one call in milliseconds. 240,000 by default. */
  readonly callMs?: number;
  /**
   * The time in milliseconds to wait for a server that cannot be reached, that is at capacity or that restarts. 240,000
   * by default. Keep it below the rollout's limit for one call of an environment (5 minutes by default).
   */
  readonly reconnectMs?: number;
  /**
   * The time in milliseconds between two signs of life of an idle connection. A connection that does not answer one
   * until the next is lost. 20,000 by default.
   */
  readonly heartbeatMs?: number;
  /**
   * Called when an environment begins to wait for its server, and when it goes on. By default a warning of the process.
   */
  readonly onWait?: (message: string) => void;
  /** Replaces the server's maximum number of steps. For a server that does not state it: 100 by default. */
  readonly maxTurns?: number;
  /** Replaces the server's range of rewards. For a server that does not state it: [0, 1] by default. */
  readonly rewardRange?: readonly [minimum: number, maximum: number];
  /**
   * Replaces the server's statement that equal seeds and actions give equal results. Episodes of a deterministic
   * environment survive a lost session. For a server that does not state it: false by default.
   */
  readonly deterministic?: boolean;
  readonly signal?: AbortSignal;
}

/** The options with their defaults. */
export interface RemoteSettings {
  readonly token: string | undefined;
  readonly connectMs: number;
  readonly callMs: number;
  readonly reconnectMs: number;
  readonly heartbeatMs: number;
  readonly notice: WaitNotice;
}

/** Returns the options with defaults. Throws `config.invalid` for a time that is not positive. */
export function resolveRemoteOptions(options: RemoteOptions): RemoteSettings {
  const { connectMs, callMs, reconnectMs, heartbeatMs, token = process.env.LYCEUM_SERVER_TOKEN, onWait } = options;
  const times = withoutUndefined({ connectMs, callMs, reconnectMs, heartbeatMs });
  for (const [name, value] of Object.entries(times)) {
    if (typeof value === "number" && value > 0 && value <= longestTimer) continue;
    throw new LyceumError({
      code: "config.invalid",
      message: `${name} of a remote environment must be above 0 and at most ${longestTimer}, got ${value}.`,
      hint: "The unit is milliseconds.",
    });
  }
  return {
    connectMs: 10_000,
    callMs: 240_000,
    reconnectMs: 240_000,
    heartbeatMs: 20_000,
    ...(times as Partial<Pick<RemoteSettings, "connectMs" | "callMs" | "reconnectMs" | "heartbeatMs">>),
    token: token === "" ? undefined : token,
    notice: new WaitNotice(onWait ?? ((message) => warn("RemoteEnvironment", message))),
  };
}

/** The longest delay of a Node timer. */
const longestTimer = 2_147_483_647;
