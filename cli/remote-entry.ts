import { z } from "zod";
import { LyceumError } from "../src/contract/errors/index.ts";
import { defineEnvironmentEntry, type EnvironmentEntry } from "../src/core/environment/registry.ts";

const seconds = z.number().positive();

const options = z.object({
  tokenVariable: z
    .string()
    .regex(/^\w+$/)
    .default("LYCEUM_SERVER_TOKEN")
    .describe("The environment variable with the server's token."),
  maxTurns: z.int().positive().optional().describe("The maximum number of steps. The server's by default, else 100."),
  rewardRange: z
    .tuple([z.number(), z.number()])
    .optional()
    .describe("The lowest and the highest reward. The server's by default, else [0, 1]."),
  deterministic: z
    .boolean()
    .optional()
    .describe("True if equal seeds and actions give equal results. The server's statement by default, else false."),
  connectSeconds: seconds.default(10).describe("The timeout of connecting."),
  callSeconds: seconds.default(240).describe("The timeout of one call."),
  reconnectSeconds: seconds.default(240).describe("How long a call waits for a server that restarts or is full."),
});

/** Returns the entry of the environment at an address. It connects when it is opened. */
export function remoteEntry(address: string): EnvironmentEntry {
  return defineEnvironmentEntry({
    id: address,
    description: "An environment on a server, over OpenEnv or gRPC.",
    options,
    neverFromLog: ["tokenVariable"],
    open: async ({ tokenVariable, connectSeconds, callSeconds, reconnectSeconds, ...spec }) => {
      // Most commands open no server, and its protocols take time to load.
      const { remoteEnvironment } = await import("../server/client/remote-environment.ts");
      return remoteEnvironment(address, {
        ...spec,
        token: process.env[tokenVariable] ?? "",
        connectMs: connectSeconds * 1000,
        callMs: callSeconds * 1000,
        reconnectMs: reconnectSeconds * 1000,
      });
    },
    create: () => {
      throw new LyceumError({
        code: "config.invalid",
        message: "An environment on a server is opened, not created.",
        hint: "In a program, use remoteEnvironment of lyceum/server, which connects to it.",
      });
    },
  }) as EnvironmentEntry;
}
