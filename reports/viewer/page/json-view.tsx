import type { JSX } from "preact";
import type { Json } from "../../../src/contract/json.ts";
import { Text } from "./parts.tsx";

/** Readable data: names with their values, and unchanged texts of several lines. */
export function JsonView({ value }: { readonly value: Json }): JSX.Element {
  if (typeof value === "string") {
    return value.includes("\n") || value.length > 120 ? (
      <pre>
        <Text>{value}</Text>
      </pre>
    ) : (
      <code>
        <Text>{value === "" ? '""' : value}</Text>
      </code>
    );
  }
  if (typeof value !== "object" || value === null) return <code>{String(value)}</code>;
  const entries = Object.entries(value as Readonly<Record<string, Json>>);
  if (entries.length === 0) return <code>{Array.isArray(value) ? "[]" : "{}"}</code>;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null)) {
    const line = JSON.stringify(value);
    if (line.length <= 120) {
      return (
        <code>
          <Text>{line}</Text>
        </code>
      );
    }
  }
  return (
    <dl class="json">
      {entries.map(([name, item]) => (
        <div key={name} class={isBlock(item) ? "block" : ""}>
          <dt>
            <Text>{name}</Text>
          </dt>
          <dd>
            <JsonView value={item} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isBlock(value: Json): boolean {
  if (typeof value === "string") return value.includes("\n") || value.length > 120;
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
