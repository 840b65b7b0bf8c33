import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ViteUserConfig } from "vitest/config";
import manifest from "./package.json" with { type: "json" };

/** Examples import the package by its entry points, which are the sources here. */
const entryPoints = Object.entries(manifest.exports).flatMap(([path, target]) => {
  if (typeof target === "string") return [];
  const source = target.default.replace(/^\.\/dist\/(.+)\.js$/, "$1.ts");
  return [{ find: new RegExp(`^lyceum${path.slice(1)}$`), replacement: join(import.meta.dirname, source) }];
});

/** What installs programs of its own or runs for minutes is no part of the quick interop tests. */
const notQuick = [
  "ai-sdk-providers",
  "capture",
  "deployment",
  "exported-packages",
  "gguf",
  "gsm8k-extraction",
  "harbor",
  "math-verify",
  "openenv-clients",
  "openenv-space",
  "ors-clients",
  "real-checkpoint",
  "remote-environments",
  "round-trip",
  "serve-model",
  "served-model",
  "skyrl",
  "skyrl-commands",
  "skyrl-parity",
  "team-round-trip",
  "tinker-cookbook",
  "torch-compile",
  "torch-processes",
  "torch-vllm",
  "torch-worker",
  "unsupported-models",
  "trackers",
  "trained-families",
  "transformers-js",
  "trl-accelerate",
  "trl-agent",
  "tuft",
  "viewer",
].map((name) => `test/interop/${name}.test.ts`);

/**
 * The tier of a test file is in its name. `NAME.test.ts` is of the fast tier: it starts no engine, process, server or
 * sandbox. `NAME.system.test.ts` does, or takes seconds. `NAME.sampled.test.ts` is a system test too, and runs a part of
 * its cases there and all in the slow tier (test/tier.ts). `NAME.soak.test.ts` is of the slow tier only, as is all of
 * test/soak.
 */
const system = ["test/**/*.system.test.ts", "test/**/*.sampled.test.ts"];
const slow = ["test/**/*.soak.test.ts", "test/soak/**/*.test.ts"];
const apart = ["test/interop/**", "test/package/**"];

const config: ViteUserConfig = {
  test: {
    pool: "forks",
    maxWorkers: 2,
    // V8 keeps its code pages by protection keys where the processor has them, and now and then ends the process when
    // threads come and go ("Check failed: jit_page.has_value()", https://github.com/nodejs/node/issues/64500).
    execArgv: ["--no-memory-protection-keys"],
    // Tests start many programs, and compiling the sources is half of a short one's processor time.
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), "lyceum-test-compile-cache") },
    coverage: {
      include: ["{src,cli,environments,reports,sandbox,server,trainers}/**/*.ts"],
      reporter: ["text-summary", "html"],
    },
    // Limits are for what hangs, not for what is slow: the machine may be busy with ten other things.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        resolve: { alias: entryPoints },
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: [...apart, ...system, ...slow],
          setupFiles: ["test/temporary-files.ts", "test/property-seed.ts", "test/fast-tier.ts"],
          testTimeout: 10_000,
          hookTimeout: 10_000,
        },
      },
      {
        extends: true,
        resolve: { alias: entryPoints },
        test: {
          name: "full",
          include: system,
          exclude: [...apart, ...slow],
          setupFiles: ["test/temporary-files.ts", "test/property-seed.ts"],
          // A tiny model is as fast on one thread. More threads would take time from the tests beside it.
          env: { OMP_NUM_THREADS: "1" },
          testTimeout: 600_000,
          hookTimeout: 600_000,
          // Its tests wait for other programs a fifth of the time.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: "package", include: ["test/package/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 },
      },
      {
        extends: true,
        test: {
          name: "interop",
          include: ["test/interop/**/*.test.ts"],
          exclude: process.env.LYCEUM_INTEROP === "quick" ? notQuick : [],
          setupFiles: ["test/temporary-files.ts"],
          globalSetup: ["test/interop/set-up.ts"],
          testTimeout: 600_000,
          hookTimeout: 1_800_000,
        },
      },
      {
        extends: true,
        resolve: { alias: entryPoints },
        test: {
          name: "soak",
          include: [...slow, "test/**/*.sampled.test.ts"],
          setupFiles: ["test/temporary-files.ts"],
          env: { LYCEUM_TEST_TIER: "slow" },
          testTimeout: 1_800_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
};

export default config;
