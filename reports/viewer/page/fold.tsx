import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

/**
 * Shows a part of long content until it is opened. `isLong` decides if it is long, and `open` shows everything from the
 * start.
 */
export function Fold(props: {
  readonly isLong: boolean;
  readonly open: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { isLong, open, children } = props;
  const [shown, setShown] = useState(open);
  if (!isLong) return <>{children}</>;
  return (
    <div class={shown ? "" : "folded"}>
      <div>{children}</div>
      <button type="button" class="unfold" aria-expanded={shown} onClick={() => setShown(!shown)}>
        {shown ? "show less" : "show all"}
      </button>
    </div>
  );
}
