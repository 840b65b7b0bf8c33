import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { openCatalog } from "../../../cli/catalog.ts";
import { nestedConfig } from "../../../cli/migrate/convert-config.ts";
import { llmCollabKeys } from "../../../cli/migrate/llm-collab-keys.ts";
import { mrlmEnvironmentKeys } from "../../../cli/migrate/mrlm-environment-keys.ts";
import { mrlmKeys } from "../../../cli/migrate/mrlm-keys.ts";
import { leaves } from "../../../cli/migrate/old-config.ts";
import { trainerSections } from "../../../cli/migrate/trainer-sections.ts";
import { migrateConfig } from "../../../cli/migrate-config.ts";
import { configKeys } from "../../../cli/run-config.ts";
import { isJsonObject, type Json } from "../../../src/contract/json.ts";
import { isSlowTier } from "../../tier.ts";
import { llmCollabSamples, mrlmSamples } from "./old-key-samples.ts";

const catalog = await openCatalog();
const tables = { mrlm: mrlmKeys, "llm-collab": llmCollabKeys };
const samples = { mrlm: mrlmSamples, "llm-collab": llmCollabSamples };
type System = keyof typeof tables;
const systems = Object.keys(tables) as System[];

describe.each(systems)("the table of %s", (system) => {
  it("has each key once, and the tests have a sample of it", () => {
    const keys = tables[system].map(({ old }) => old);
    expect(keys.filter((key, place) => keys.indexOf(key) < place)).toEqual([]);
    expect(Object.keys(samples[system]).toSorted()).toEqual(keys.filter((key) => key !== "*").toSorted());
  });

  it("gives the new key of every key, or why there is none", () => {
    for (const { old, now, server, note, noEffect } of [...tables[system], ...mrlmEnvironmentKeys]) {
      expect([old, now ?? server ?? note ?? (noEffect === true ? "no effect" : undefined)]).toEqual([
        old,
        expect.stringMatching(/./),
      ]);
    }
  });

  it("contains only new keys that a config of Lyceum can have", () => {
    const known = new Set(configKeys(catalog).map(({ key }) => key.replace(/\[\].*|\.\*.*/, "")));
    const sections = ["environment", "environments", "rewards", "trackers", "agents.models"];
    const pending = ["model.precision", "model.deviceIndex", "environment.url"];
    for (const { old, now } of [...tables[system], ...mrlmEnvironmentKeys]) {
      const names = (now ?? "").split(/[,;] /).map((name) => name.replace(/^or /, "").replace(/ (under|with) .*/, ""));
      for (const name of names.filter((text) => text !== "")) {
        expect([old, name, known.has(name) || [...sections, ...pending].includes(name)]).toEqual([old, name, true]);
      }
    }
  });
});

/** Generates a config of a system: the minimum it needs, and any of its keys with any of their values. */
function oldConfigs(system: System): fc.Arbitrary<{ readonly section: string; readonly config: Json }> {
  const given = Object.entries(samples[system]);
  return fc
    .record({
      section: system === "mrlm" ? fc.constant("") : fc.constantFrom(...trainerSections.map(({ name }) => name)),
      keys: fc.subarray(given, { minLength: 0 }),
      places: fc.infiniteStream(fc.nat()),
    })
    .map(({ section, keys, places }) => {
      const config: Record<string, Json> =
        system === "mrlm"
          ? { training: { algorithm: "ppo" }, eval_envs: [{ env_type: "math" }] }
          : { model: { name: "a/model" }, dataset: { type: "humaneval" }, [section]: {} };
      // Keys that no version knows: alone, in a section, and spelled as the path of an existing key.
      Object.assign(config, {
        flux: 1,
        "model.name": 2,
        output: { flux: 3 },
        model: { ...(config.model as object), flux: 4 },
      });
      for (const [old, values] of keys) {
        const path = (old === "*" ? section : old.replace(/^\*/, section)).split(".");
        let parent: Record<string, Json> | undefined = config;
        for (const key of path.slice(0, -1)) {
          parent![key] ??= {};
          const child: Json = parent![key]!;
          parent = isJsonObject(child) ? (child as Record<string, Json>) : undefined;
          if (parent === undefined) break;
        }
        const value = values[places.next().value % values.length]!;
        if (parent !== undefined && !isJsonObject(parent[path.at(-1)!])) parent[path.at(-1)!] = structuredClone(value);
      }
      return { section, config };
    });
}

describe.each(systems)("a config of %s", (system) => {
  it("becomes a valid config, and every old key is kept, served, idle or lost with a reason", async () => {
    await fc.assert(
      fc.asyncProperty(oldConfigs(system), async ({ section, config }) => {
        const text = stringify(config);
        const { converted, yaml } = await migrateConfig({ text, name: "old.yaml", to: "new.yaml", system, catalog });
        expect(parse(yaml)).toEqual(nestedConfig(converted.set));
        expect(converted.lost.filter(({ reason }) => reason === "")).toEqual([]);
        const kept = [...converted.origins.values()].flatMap(({ from }) => from);
        const lost = converted.lost.flatMap(({ key }) => key.split(", "));
        // The section itself names the algorithm and concerns none of its keys.
        const accounted = [...kept, ...converted.served, ...lost, ...converted.idle];
        for (const { path } of leaves(config)) {
          const found = accounted.some(
            (key) => path === key || (key !== section && path.startsWith(`${key}.`)) || key.startsWith(`${path}[`),
          );
          expect([path, found]).toEqual([path, true]);
        }
        for (const path of ["flux", '"model.name"', "output.flux", "model.flux"]) {
          expect([...lost, ...converted.idle]).toContain(path);
        }
      }),
      { numRuns: isSlowTier ? 80 : 20 },
    );
  });
});
