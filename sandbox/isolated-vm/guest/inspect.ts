/**
 * Creates the function that converts arguments of `console.log` to text, similar to Node: strings unchanged, other
 * values as literals. Sent to an isolate as source text, so it refers to nothing outside itself.
 */
export function createInspect(): (values: readonly unknown[]) => string {
  const { apply, ownKeys, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
  const { hasOwn } = Object;
  const { isArray } = Array;
  const quote = JSON.stringify;
  const stringOf = String;
  const mapForEach = Map.prototype.forEach;
  const setForEach = Set.prototype.forEach;
  const dateText = Date.prototype.toISOString;
  const regExpText = RegExp.prototype.toString;
  const regExpTest = RegExp.prototype.test;
  const identifier = /^[A-Za-z_$][\w$]*$/;
  const lineWidth = 72;
  const maxItems = 100;

  /** In single quotes, or in double quotes if that needs fewer escapes. */
  const quoted = (text: string): string => {
    const json = quote(text);
    let single = "";
    let apostrophes = false;
    let quotes = false;
    for (let i = 1; i < json.length - 1; i++) {
      const isEscape = json[i] === "\\";
      const letter = isEscape ? json[i]! + json[++i]! : json[i]!;
      apostrophes ||= letter === "'";
      quotes ||= letter === '\\"';
      single += letter === "'" ? "\\'" : letter === '\\"' ? '"' : letter;
    }
    return apostrophes && !quotes ? json : `'${single}'`;
  };
  const read = (object: object, key: PropertyKey): unknown => {
    for (let at: object | null = object; at !== null; at = getPrototypeOf(at)) {
      const property = getOwnPropertyDescriptor(at, key);
      if (property !== undefined) return hasOwn(property, "value") ? property.value : undefined;
    }
    return undefined;
  };
  const className = (object: object): string => {
    const maker = read(object, "constructor");
    const name = typeof maker === "function" ? read(maker, "name") : undefined;
    return typeof name === "string" ? name : "";
  };
  const attempt = (method: () => string, value: object): string | undefined => {
    try {
      return apply(method, value, []) as string;
    } catch {
      return undefined;
    }
  };
  /** Puts items between brackets: on one line if they fit, otherwise one per line. */
  const wrap = (items: string, lines: string, brackets: string, indent: string): string => {
    if (items === "") return brackets;
    const short = items.length + indent.length <= lineWidth;
    const open = brackets[0]!;
    const close = brackets[1]!;
    return short ? `${open} ${items} ${close}` : `${open}\n${lines}\n${indent}${close}`;
  };
  const inspect = (value: unknown, depth: number, indent: string): string => {
    if (typeof value === "string") return quoted(value);
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "function")
      return `[Function${read(value, "name") ? `: ${stringOf(read(value, "name"))}` : " (anonymous)"}]`;
    if (typeof value === "number") return value === 0 && 1 / value < 0 ? "-0" : `${value}`;
    if (typeof value !== "object" || value === null) return stringOf(value);
    const stack = read(value, "stack");
    const message = read(value, "message");
    if (typeof message === "string" && className(value) !== "Object") {
      return typeof stack === "string" ? stack : `${className(value)}: ${message}`;
    }
    const text = attempt(dateText, value) ?? (getPrototypeOf(value) === null ? undefined : regExpOf(value));
    if (text !== undefined) return text;
    if (depth < 0) return isArray(value) ? "[Array]" : `[${className(value) || "Object"}]`;
    let items = "";
    let lines = "";
    let count = 0;
    const inner = `${indent}  `;
    const add = (item: string): void => {
      count++;
      if (count > maxItems) return;
      items += (items === "" ? "" : ", ") + item;
      lines += `${lines === "" ? "" : ",\n"}${inner}${item}`;
    };
    const name = className(value);
    const more = (): void => {
      if (count > maxItems) {
        items += `, ... ${count - maxItems} more items`;
        lines += `,\n${inner}... ${count - maxItems} more items`;
      }
    };
    const show = (item: unknown): string => inspect(item, depth - 1, inner);
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        if (i < maxItems) add(show(read(value, i)));
        else count = value.length;
        if (i > maxItems) break;
      }
      more();
      return wrap(items, lines, "[]", indent);
    }
    if (tryEach(mapForEach, value, (item, key) => add(`${show(key)} => ${show(item)}`))) {
      more();
      return `Map(${count}) ${wrap(items, lines, "{}", indent)}`;
    }
    if (tryEach(setForEach, value, (item) => add(show(item)))) {
      more();
      return `Set(${count}) ${wrap(items, lines, "{}", indent)}`;
    }
    const keys = ownKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const property = getOwnPropertyDescriptor(value, keys[i]!);
      if (property === undefined || !property.enumerable) continue;
      const key = keys[i]!;
      const label = typeof key === "symbol" ? `[${stringOf(key)}]` : isIdentifier(key) ? key : quoted(key);
      add(`${label}: ${hasOwn(property, "value") ? show(property.value) : "[Getter]"}`);
    }
    const prefix = getPrototypeOf(value) === null ? "[Object: null prototype] " : name === "Object" ? "" : `${name} `;
    return prefix + wrap(items, lines, "{}", indent);
  };
  const isIdentifier = (key: string): boolean => apply(regExpTest, identifier, [key]);
  const regExpOf = (value: object): string | undefined =>
    className(value) === "RegExp" ? attempt(regExpText, value) : undefined;
  const tryEach = (
    forEach: (visit: never) => void,
    value: object,
    visit: (item: unknown, key: unknown) => void,
  ): boolean => {
    try {
      apply(forEach, value, [visit]);
      return true;
    } catch {
      return false;
    }
  };
  const asText = (value: unknown): string => (typeof value === "string" ? value : inspect(value, 2, ""));
  /** `%s`, `%d`, `%i`, `%f`, `%j`, `%o`, `%O` and `%%` of a first argument consume the following arguments. */
  return (values) => {
    let next = 0;
    let text = "";
    const first = values[0];
    if (typeof first === "string" && values.length > 1) {
      next = 1;
      for (let i = 0; i < first.length; i++) {
        const letter = first[i] === "%" ? first[i + 1] : undefined;
        const takes = letter !== undefined && "sdifjoO".includes(letter) && next < values.length;
        if (takes) text += letter === "j" ? quote(values[next++]) : asText(values[next++]);
        else text += letter === "%" ? "%" : first[i]!;
        if (takes || letter === "%") i++;
      }
    }
    for (; next < values.length; next++) text += (next === 0 ? "" : " ") + asText(values[next]);
    return text;
  };
}
