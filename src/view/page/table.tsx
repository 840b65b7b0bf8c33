import type { ComponentChildren, JSX } from "preact";
import { Text } from "./parts.tsx";

/** A column of a table; a value in place of one, such as `false`, is left out. */
export interface Column<Row> {
  readonly name: string;
  /** What stands above it, where that is not its name. */
  readonly head?: ComponentChildren;
  /** How its cells are set: names on one line, `wrap` on as many as they need, `words` on one and in what room is left. */
  readonly kind?: "name" | "wrap" | "words" | "narrow";
  readonly cell?: (row: Row) => ComponentChildren;
  /** In place of `cell`, a number: it stands to the right. */
  readonly number?: (row: Row) => ComponentChildren;
  readonly title?: (row: Row) => string | undefined;
}

/** A table that is scrolled sideways where there is no room for it. `name` is also its class. */
export function Table<Row>(props: {
  readonly name: "runs" | "episodes" | "metrics";
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly (Column<Row> | false)[];
}): JSX.Element {
  const { name, rows, keyOf } = props;
  const columns = props.columns.filter((column) => column !== false);
  return (
    <div class="scroll">
      <table class={name}>
        <thead>
          <tr>
            {columns.map(({ name, head = name, kind, number }) => (
              <th key={name} class={number === undefined ? kind : "number"}>
                {typeof head === "string" ? <Text>{head}</Text> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, kind, cell, number, title }) => (
                <td key={name} class={number === undefined ? kind : "number"} title={title?.(row)}>
                  {(number ?? cell)?.(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
