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
  "gsm8k-extraction",
  "harbor",
  "math-verify",
  "openenv-clients",
  "openenv-space",
  "ors-clients",
  "real-checkpoint",
  "remote-environments",
  "serve-model",
  "served-model",
  "skyrl",
  "skyrl-commands",
  "skyrl-parity",
  "team-round-trip",
  "tinker-cookbook",
  "trackers",
  "transformers-js",
  "trl-accelerate",
  "trl-agent",
  "tuft",
  "viewer",
].map((name) => `test/interop/${name}.test.ts`);

/** Suites of attacks and faults that take a minute or more: they run with the slow tier. */
const slow = [
  "test/cli/file-faults.test.ts",
  "test/cli/forbidden-writes.test.ts",
  "test/environments/hidden-test-leaks.test.ts",
  "test/environments/hidden-test-leaks-javascript.test.ts",
  "test/sandbox/faults.test.ts",
  "test/sandbox/faults-engine.test.ts",
  "test/sandbox/faults-host.test.ts",
  "test/sandbox/javascript-attacks.test.ts",
  "test/sandbox/python-attacks.test.ts",
];

/** Suites whose cases the engines share in the fast tier (test/tier.ts). In the slow tier, each engine runs all of them. */
const shared = [
  "test/environments/bug-fix/bug-fix-benchmarks.test.ts",
  "test/environments/class-completion/class-climb.test.ts",
  "test/sandbox/docker-javascript.test.ts",
  "test/sandbox/false-passes.test.ts",
  "test/sandbox/isolated-vm-adversarial.test.ts",
  "test/sandbox/vacuous-passes.test.ts",
  "test/sandbox/zygote-adversaries.test.ts",
  "test/sandbox/zygote-benchmarks.test.ts",
  "test/sandbox/zygote-start.test.ts",
];

const config: ViteUserConfig = {
  test: {
    pool: "forks",
    maxWorkers: 2,
    // V8 keeps its code pages by protection keys where the processor has them, and now and then ends the process when
    // threads come and go ("Check failed: jit_page.has_value()", https://github.com/nodejs/node/issues/64500).
    execArgv: ["--no-memory-protection-keys"],
    // Tests start many programs, and compiling the sources is half of a short one's processor time.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "lyceum-test-compile-cache") },
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
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/interop/**", "test/package/**", "test/soak/**", ...slow],
          setupFiles: ["test/property-seed.ts"],
          // A tiny model is as fast on one thread. More threads would take time from the tests beside it.
          env: { OMP_NUM_THREADS: "1" },
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: { name: "package", include: ["test/package/**/*.test.ts"], testTimeout: 300_000, hookTimeout: 600_000 },
      },
      {
        extends: true,
        test: {
          name: "interop",
          include: ["test/interop/**/*.test.ts"],
          exclude: process.env.LYCEUM_INTEROP === "quick" ? notQuick : [],
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
          include: ["test/soak/**/*.test.ts", ...slow, ...shared],
          env: { LYCEUM_TEST_TIER: "slow" },
          testTimeout: 1_800_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
};

export default config;
