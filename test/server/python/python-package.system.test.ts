import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { className, identifiers, moduleName } from "../../../server/python/python-names.ts";
import { type PythonPackageOptions, pythonPackage } from "../../../server/python/python-package.ts";
import { pythonModule } from "../../../server/python/python-template.ts";
import { docText, oneLine, pythonLiteral } from "../../../server/python/python-text.ts";
import { pythonType } from "../../../server/python/python-type.ts";
import type { EnvironmentSpec } from "../../../src/contract/environment.ts";
import type { Json } from "../../../src/contract/json.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const hostile = 'Ends """ here.\n\n    Returns: \\ x\u2028\u0000Args:\n  (choices: [1)"';

/** Imports the package without websockets. */
const importPackage = `
import inspect, json, sys, types, typing, warnings
sys.path.insert(0, sys.argv[1])
connect = types.ModuleType("websockets.sync.client")
connect.connect = None
sys.modules.update({"websockets": types.ModuleType("websockets"), "websockets.sync": types.ModuleType("websockets.sync")})
sys.modules["websockets.sync.client"] = connect
package = types.ModuleType("hard_env")
package.__path__ = [sys.argv[1] + "/hard_env"]
sys.modules["hard_env"] = package
from hard_env.trl_environment import HardEnvironment, environment_reward, task_rows
`;

/** Checks the methods of the class, and plays an episode on a session that records its calls. */
const useTools = `${importPackage}
env = HardEnvironment()
sent = []
class Recorder:
    def reset(self, **options):
        sent.append(options)
        return {"done": False, "observation": {"text": "start"}}
    def step(self, action):
        sent.append(action)
        return {"done": len(sent) == 4, "reward": 0.25, "observation": {"text": "next"}}
env._session = Recorder()
methods = [name for name, _ in inspect.getmembers(env, inspect.ismethod) if not name.startswith("_")]
start = env.reset(**task_rows(1, start=3)[0], other=1)
env.class_(from_="a", self_=2)
env.list_(items=[1], kind="b")
env.answer("x")
try:
    env.answer("y")
    ended = ""
except ValueError as error:
    ended = str(error)
print(json.dumps({
    "methods": methods, "start": start, "sent": sent, "ended": ended,
    "reward": environment_reward([env], [[{"role": "assistant", "content": "z"}]])[0],
    "doc": inspect.getdoc(env.class_),
    "hints": {name: str(hint) for name, hint in typing.get_type_hints(env.list_).items()},
}))
`;

/**
 * Ends episodes of three turns by the reward function, twice and in another order, and returns what each session got.
 * A turn of "lost" ends the connection, and one of "unscored" has no reward.
 */
const endEpisodes = `${importPackage}
warnings.simplefilter("ignore")
class Recorder:
    def __init__(self):
        self.sent = []
    def reset(self, **options):
        self.sent.append("reset")
        return {"done": False, "observation": {"text": "start"}}
    def step(self, action):
        text = action["text"]
        self.sent.append(text)
        if text == "lost":
            raise ConnectionError("gone")
        if text == "refused":
            raise RuntimeError("refused")
        turns = self.sent[::-1].index("reset")
        unscored = text == "unscored"
        data = {"done": turns == 3, "reward": None if unscored else 0.25, "observation": {"text": "next"}}
        return data | ({"metadata": {"unscored": {"agent": "no"}}} if unscored else {})
class Other:
    pass
pool = [HardEnvironment() for _ in range(int(sys.argv[2]))]
for env in pool:
    env._session = Recorder()
batches = []
for rows in json.loads(sys.argv[3]):
    environments, completions = [], []
    for place, (turns, last) in enumerate(rows):
        env = pool[place]
        env.reset(index=0)
        called = {"role": "assistant", "content": "", "tool_calls": [{"type": "function"}]}
        completion = []
        for text in turns:
            completion.append(called)
            try:
                result = env.answer(text)
            except Exception as error:
                result = str(error)
            completion.append({"role": "tool", "content": result})
        environments.append(env)
        completions.append(completion + ([called] if last is None else [] if last == "cut" else [last]))
    environments.append(Other())
    completions.append([{"role": "assistant", "content": "other"}])
    try:
        first = environment_reward(environments=environments, completions=completions, index=[0], trainer_state=None)
    except RuntimeError as error:
        first = [str(error)]
    again = environment_reward(environments[::-1], completions[::-1])[::-1]
    batches.append([first, again, [env._session.sent for env in pool[: len(rows)]]])
    for env in pool:
        env._session.sent = []
print(json.dumps(batches))
`;

const spec: EnvironmentSpec = {
  id: "hard",
  agents: ["agent"],
  maxTurns: 3,
  rewardRange: [0, 1],
  deterministic: true,
  description: hostile,
  tools: [
    {
      name: "class",
      description: hostile,
      parameters: {
        type: "object",
        properties: {
          limit: { type: "integer", default: 3 },
          from: { type: "string", description: hostile },
          self: { type: "number" },
        },
        required: ["from", "self"],
      },
    },
    {
      name: "list",
      description: "",
      parameters: {
        type: "object",
        properties: { items: { type: "array", items: { type: "integer" } }, kind: { enum: ["a", "b", '"'] } },
        required: ["items"],
      },
    },
    { name: "list!", description: "Again.", parameters: {} },
    { name: "__reset", description: "No reset.", parameters: {} },
  ],
};
const single: PythonPackageOptions = {
  spec,
  splits: [{ name: "train", length: 3 }],
  name: "hard-env",
  serve: ["--environments", "hard"],
  npm: ["lyceum@1.0.0"],
};

/** Writes the files, compiles them by Python and passes the folder. */
async function compiled(files: Readonly<Record<string, string>>, use?: (folder: string) => Promise<void>) {
  const folder = temporaryFolder();
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const scripts = Object.keys(files).flatMap((path) => (path.endsWith(".py") ? [join(folder, path)] : []));
    await promisify(execFile)("python3", ["-W", "error", "-m", "py_compile", ...scripts]);
    await use?.(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("the modules of packages", () => {
  test("are Python before the names of an environment are filled in", async () => {
    const folder = join(import.meta.dirname, "../../../server/python/templates");
    const names = await readdir(folder);
    expect(names.length).toBeGreaterThan(5);
    const entries = names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const);
    await compiled(Object.fromEntries(await Promise.all(entries)));
  });

  test("take texts as they are, and only for texts that they contain", () => {
    const filled = pythonModule("session", { '"environment-id"': '"$& Session"', Session: "Meeting" });
    expect(filled).toContain('ENVIRONMENT = "$& Session"');
    expect(filled).toContain("class Meeting:");
    expect(() => pythonModule("session", { "no such text": "" })).toThrow("does not contain");
  });
});

describe("the package of an environment", () => {
  test("has the modules that fit one agent with tools, and they compile", async () => {
    const files = pythonPackage(single);
    expect(Object.keys(files)).toEqual([
      ...["pyproject.toml", "README.md", "Dockerfile", "openenv.yaml", "hard_env/__init__.py", "hard_env/py.typed"],
      ...["hard_env/models.py", "hard_env/session.py", "hard_env/client.py", "hard_env/trl_environment.py"],
      ...["hard_env/agent_rollouts.py", "hard_env/model_endpoint.py"],
    ]);
    await compiled(files);
  });

  test("has a taskset of verifiers for one agent without tools", async () => {
    const files = pythonPackage({ ...single, spec: { ...spec, tools: [] } });
    expect(Object.keys(files)).toContain("hard_env_taskset.py");
    expect(files["hard_env_taskset.py"]).not.toContain("import openenv");
    await compiled(files);
  });

  test("has a parallel environment for several agents", async () => {
    const files = pythonPackage({ ...single, spec: { ...spec, agents: ["a", 'b"\\'] } });
    expect(Object.keys(files)).toContain("hard_env/pettingzoo_env.py");
    expect(Object.keys(files)).not.toContain("hard_env/trl_environment.py");
    await compiled(files);
  });

  test("calls tools by their own names and arguments, whatever the specs contain", async () => {
    await compiled(pythonPackage(single), async (folder) => {
      const { stdout } = await promisify(execFile)("python3", ["-c", useTools, folder]);
      const result = JSON.parse(stdout) as Record<string, Json>;
      expect(result).toMatchObject({
        methods: ["answer", "class_", "list_", "list_2", "reset", "reset_"],
        start: "start",
        reward: 0.75,
        ended: "The episode has ended.",
        hints: { items: "list[int]" },
        sent: [
          { index: 3, seed: null, split: null },
          { text: "", tool_calls: [{ name: "class", arguments: { from: "a", self: 2, limit: 3 } }] },
          { text: "", tool_calls: [{ name: "list", arguments: { items: [1], kind: "b" } }] },
          { text: "x" },
        ],
      });
      const doc = result.doc as string;
      // TRL reads these sections, so that the texts of specs must not add one.
      expect(doc.match(/Args:/g)).toHaveLength(1);
      expect(doc).not.toMatch(/Returns:|choices:/);
      expect(doc).toMatch(/\n {4}from_: Ends/);
    });
  });

  test("takes turns by a text only if there are several", async () => {
    const moduleOf = (maxTurns: number): string =>
      pythonPackage({ ...single, spec: { ...spec, tools: [], maxTurns } })["hard_env/trl_environment.py"]!;
    expect(moduleOf(2)).toContain("def answer(");
    expect(moduleOf(1)).not.toContain("def answer(");
    await compiled(pythonPackage({ ...single, spec: { ...spec, tools: [], maxTurns: 1 } }));
  });

  test("sends a plain last message once, whatever happened before and however often rewards are asked for", async () => {
    const said = (content: Json) => ({ role: "assistant", content });
    const cases: readonly (readonly [turns: readonly string[], last: Json, sent: readonly string[], reward: Json])[] = [
      [[], said("x"), ["x"], 0.25],
      [[], said(""), [""], 0.25],
      [[], said(null), [""], 0.25],
      [[], said([{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }]), ["ab"], 0.25],
      [["a"], said("x"), ["a", "x"], 0.5],
      [["a", "b"], said("x"), ["a", "b", "x"], 0.75],
      // The tool ended the episode.
      [["a", "b", "c"], said("x"), ["a", "b", "c"], 0.75],
      [["a", "b", "c", "d"], said("x"), ["a", "b", "c"], 0.75],
      // A call that did not run, and a result after which nothing was written.
      [["a"], null, ["a"], 0.25],
      [["a"], "cut", ["a"], 0.25],
      [[], said("<think>a</think>\n\nx"), ["x"], 0.25],
      [[], said("a</think>\nx"), ["x"], 0.25],
      [[], said("<think>a"), [""], 0.25],
      [[], said("x <think>a</think>"), ["x <think>a</think>"], 0.25],
      [["unscored"], said("x"), ["unscored", "x"], null],
      [["a"], said("unscored"), ["a", "unscored"], null],
      [["lost"], said("x"), ["lost"], null],
      [["a"], said("lost"), ["a", "lost"], null],
      // The model reads the error of a tool, and goes on.
      [["refused"], said("x"), ["refused", "x"], 0.25],
    ];
    const order = fc.shuffledSubarray(
      cases.map((_, place) => place),
      { minLength: 1 },
    );
    await compiled(pythonPackage(single), async (folder) => {
      const run = async (batches: readonly (readonly number[])[]): Promise<unknown> => {
        const rows = batches.map((places) => places.map((place) => cases[place]!.slice(0, 2)));
        const args = ["-c", endEpisodes, folder, String(cases.length), JSON.stringify(rows)];
        return JSON.parse((await promisify(execFile)("python3", args)).stdout) as unknown;
      };
      const batches = [cases.map((_, place) => place), ...fc.sample(order, 8)];
      const expected = batches.map((places) => {
        const rewards = [...places.map((place) => cases[place]![3]), null];
        return [rewards, rewards, places.map((place) => ["reset", ...cases[place]![2]])];
      });
      expect(await run(batches)).toEqual(expected);
    });
  });

  test("has OpenEnv's manifest, whatever the spec contains", () => {
    const splits = [...single.splits, { name: "generated", length: "unbounded" as const }];
    const manifestOf = (options: Partial<EnvironmentSpec>): unknown =>
      parse(pythonPackage({ ...single, splits, spec: { ...spec, ...options } })["openenv.yaml"]!);
    expect(manifestOf({})).toEqual({
      ...{ spec_version: 1, name: "hard", version: "0.1.0", type: "space", runtime: "docker", port: 8000 },
      description: oneLine(hostile),
      validation: {
        reward: { range: [0, 1], floor_margin: 0.1 },
        resources: { cpu: 1, memory_mb: 1024, disk_mb: 1024, episode_timeout_s: 600 },
        capabilities: {
          verifier: { kind: "reward_channel" },
          task_api: true,
          declared_tools: ["class", "list", "list!", "__reset"],
          declared_task_count: { train: 3 },
        },
        types: { tags: ["lyceum"] },
      },
    });
    for (const rewardRange of [
      [0, Infinity],
      [1, 1],
    ] as const) {
      expect(manifestOf({ rewardRange })).not.toHaveProperty("validation");
    }
  });

  test("is a Hugging Face Space too, if it is asked for", async () => {
    const id = "a: 'b' #c";
    const files = pythonPackage({ ...single, spec: { ...spec, id }, space: true });
    const plain = pythonPackage({ ...single, spec: { ...spec, id } });
    expect(Object.keys(files).filter((path) => !Object.hasOwn(plain, path))).toEqual(["__init__.py", "client.py"]);
    const [, settings, text] = files["README.md"]!.split("---\n");
    expect(parse(settings!)).toMatchObject({ title: id, sdk: "docker", app_port: 8000, tags: ["openenv"] });
    expect(text!.trim().startsWith(plain["README.md"]!.trim())).toBe(true);
    expect(text).toContain("LYCEUM_SERVER_TOKEN");
    await compiled(files);
  });

  test("refuses a name that is none of a package", () => {
    expect(() => pythonPackage({ ...single, name: 'a"b' })).toThrow(
      expect.objectContaining({ code: "config.invalid" }),
    );
  });
});

describe("types from schemas", () => {
  const cases: readonly (readonly [schema: Json, type: string])[] = [
    [{ type: "string" }, "str"],
    [{ type: "integer" }, "int"],
    [{ type: "number" }, "float"],
    [{ type: "boolean" }, "bool"],
    [{ type: "array", items: { type: "string" } }, "list[str]"],
    [{ type: "array" }, "list[Any]"],
    [{ type: "object", properties: { a: { type: "string" } } }, "dict[str, Any]"],
    [{ type: "object", additionalProperties: { type: "number" } }, "dict[str, float]"],
    [{ enum: ["a", 'b"', 3, true, null] }, 'Literal["a", "b\\"", 3, True] | None'],
    [{ enum: [1.5] }, "Any"],
    [{ const: "a" }, 'Literal["a"]'],
    [{ type: ["string", "null"] }, "str | None"],
    [{ anyOf: [{ type: "integer" }, { type: "string" }, { type: "integer" }] }, "int | str"],
    [{ oneOf: [{ type: "integer" }, {}] }, "Any"],
    [{ $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "boolean" } } }, "bool"],
    [{ $ref: "#", type: "array" }, "Any"],
    [{ type: "array", items: { $ref: "#" } }, "list[list[Any]]"],
    [{ $ref: "https://example.com/schema" }, "Any"],
    [true, "Any"],
  ];
  for (const [schema, type] of cases) test(JSON.stringify(schema), () => expect(pythonType(schema)).toBe(type));
});

test("identifiers are valid and different", () => {
  expect(identifiers(["a-b", "a_b", "class", "1st", "__x", "é", "self"], ["self"])).toEqual([
    ...["a_b", "a_b_", "class_", "n1st", "x", "value", "self_"],
  ]);
  expect([className("number-guessing"), className("2048"), className("none")]).toEqual([
    ...["NumberGuessing", "N2048", "EnvNone"],
  ]);
  expect([moduleName("My.Env"), moduleName("import")]).toEqual(["my_env", "import_"]);
});

test("literals and docstrings", () => {
  expect(pythonLiteral({ a: [null, true, 1.5, 'x"\n'] })).toBe('{"a": [None, True, 1.5, "x\\"\\n"]}');
  expect(docText('a\\ """ b\n Args: c')).toBe("a\\\\ ''' b Args - c");
});
