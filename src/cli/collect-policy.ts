import type { OpenPolicy } from "../../trainers/open-policy.ts";
import type { EnvironmentDefinition } from "../environment/environment.ts";
import { LyceumError } from "../errors/index.ts";
import type { CollectArguments } from "./create-program.ts";
import { openNamedPolicy } from "./named-policy.ts";
import type { Rooms } from "./rooms.ts";

/** Who plays: the environment's expert, or a model. Throws `config.invalid` for arguments that do not go together. */
export async function openCollector(
  { policy, model, device }: Pick<CollectArguments, "policy" | "model" | "device">,
  options: {
    readonly environment: EnvironmentDefinition;
    readonly rooms: Pick<Rooms, "createBackend">;
    readonly signal: AbortSignal;
  },
): Promise<OpenPolicy> {
  if ((policy === "model") !== (model !== undefined)) {
    throw new LyceumError({
      code: "config.invalid",
      message: model === undefined ? "--policy model needs --model." : "--model belongs to --policy model.",
      hint: "Such as --policy model --model runs/train/model.",
    });
  }
  return openNamedPolicy(model ?? "demonstration", { ...options, device });
}
