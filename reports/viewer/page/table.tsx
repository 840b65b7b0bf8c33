import type { ComponentChildren, JSX } from "preact";
import { Text } from "./parts.tsx";
import { Scroller } from "./scroller.tsx";
import type { SortValue } from "./sort-rows.ts";

/** A column of a table. A value such as `false` in place of a column is ignored. */
export interface Column<Row> {
  readonly name: string;
  /** The text of its head, if it is not its name. */
  readonly head?: ComponentChildren;
  /**
   * The layout of its cells: names on one line, `wrap` on several lines, `words` and the `prompt` on one line in the
   * remaining space.
   */
  readonly kind?: "name" | "wrap" | "words" | "prompt" | "narrow";
  readonly cell?: (row: Row) => ComponentChildren;
  /** A number, in place of `cell`. It is aligned to the right. */
  readonly number?: (row: Row) => ComponentChildren;
  readonly title?: (row: Row) => string | undefined;
  /** Makes the column's head a button that sorts by this value. */
  readonly sort?: (row: Row) => SortValue;
}

/** The column by which a table is sorted. */
export interface TableOrder {
  readonly sort: string;
  readonly descending: boolean;
}

/** A table that scrolls sideways if it is too wide. `name` is also its class. */
export function Table<Row>(props: {
  readonly name: "runs" | "episodes" | "metrics";
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly (Column<Row> | false)[];
  readonly classOf?: (row: Row) => string;
  readonly order?: TableOrder;
  readonly onSort?: (name: string) => void;
}): JSX.Element {
  const { name, rows, keyOf, classOf, order, onSort } = props;
  const columns = props.columns.filter((column) => column !== false);
  return (
    <Scroller label={`table of ${name}`}>
      <table class={name}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} order={order} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={classOf?.(row)}>
              {columns.map(({ name, kind, cell, number, title }) => (
                <td key={name} class={number === undefined ? kind : "number"} title={title?.(row)}>
                  {(number ?? cell)?.(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

function Head<Row>(props: {
  readonly column: Column<Row>;
  readonly order: TableOrder | undefined;
  readonly onSort: ((name: string) => void) | undefined;
}): JSX.Element {
  const { column, order, onSort } = props;
  const { name, head = name, kind, number, sort } = column;
  const text = typeof head === "string" ? <Text>{head}</Text> : head;
  const style = number === undefined ? kind : "number";
  if (sort === undefined || onSort === undefined) return <th class={style}>{text}</th>;
  const isSorted = order?.sort === name;
  const direction = order?.descending === true ? "descending" : "ascending";
  return (
    <th class={style} aria-sort={isSorted ? direction : undefined}>
      <button type="button" class="sort" onClick={() => onSort(name)}>
        {text}
        <span aria-hidden="true">{isSorted ? (order.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}
