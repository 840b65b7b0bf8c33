import type { Random } from "../../src/core/random/random.ts";
import { callMessage } from "../../src/core/tools/call-message.ts";
import { answerText, type TaskGenerator } from "./tools-task.ts";

const products = ["lamps", "chairs", "desks", "shelves", "rugs", "mirrors", "clocks", "vases", "stools", "trays"];
const regions = ["north", "south", "east", "west"];

interface Row {
  readonly product: string;
  readonly region: string;
  readonly quantity: number;
  readonly price: number;
}

/**
 * Returns a generator of tasks that ask for a sum over a table in a file of the episode's folder. With `calculator`,
 * the calculator is required, too.
 */
export function fileTask(options: { readonly calculator: boolean }): TaskGenerator {
  return (random) => {
    const path = `${random.pick(["sales", "orders", "stock", "report"])}-${random.integer(100, 999)}.csv`;
    const rows = random.shuffle(products).map((product) => ({
      product,
      region: random.pick(regions),
      quantity: random.integer(11, 989),
      price: random.integer(103, 9_989),
    }));
    const { asked, terms } = random.pick(questions)(rows, random);
    const answer = String(terms.reduce((sum, { quantity, price }) => sum + quantity * price, 0));
    const expression = terms.map(({ quantity, price }) => `${quantity} * ${price}`).join(" + ");
    return {
      kind: "file",
      question: `The file ${path} lists products with a quantity and a price each. ${asked}`,
      answer,
      tools: ["read_file", ...(options.calculator ? ["calculator"] : [])],
      files: { [path]: table(rows) },
      solution: [
        callMessage(["read_file", { path }]),
        ...(options.calculator ? [callMessage(["calculator", { expression }])] : []),
        answerText(answer),
      ],
    };
  };
}

type Question = (rows: readonly Row[], random: Random) => { readonly asked: string; readonly terms: readonly Row[] };

const questions: readonly Question[] = [
  (rows) => ({ asked: "What do all products cost together, each price times its quantity?", terms: rows }),
  (rows, random) => {
    const { region } = random.pick(rows);
    return {
      asked: `What do the products of the region ${region} cost together, each price times its quantity?`,
      terms: rows.filter((row) => row.region === region),
    };
  },
  (rows, random) => {
    const least = random.pick(rows).quantity;
    return {
      asked: `What do the products with a quantity of ${least} or more cost together, each price times its quantity?`,
      terms: rows.filter(({ quantity }) => quantity >= least),
    };
  },
];

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ product, region, quantity, price }) => [product, region, quantity, price].join(","));
  return `${["product,region,quantity,price", ...lines].join("\n")}\n`;
}
