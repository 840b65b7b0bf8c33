import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

/** What is long is shown in part, until it is opened. `isLong` decides, and `open` shows it all from the start. */
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
