import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Content that is wider than the page scrolls sideways. A shade and an arrow show on which side there is more. */
export function Scroller({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [more, setMore] = useState({ left: false, right: false });
  useEffect(() => {
    const element = place.current!;
    const look = (): void => {
      const { scrollLeft, scrollWidth, clientWidth } = element;
      const next = { left: scrollLeft > 1, right: scrollLeft + clientWidth < scrollWidth - 1 };
      setMore((before) => (before.left === next.left && before.right === next.right ? before : next));
    };
    look();
    const resized = new ResizeObserver(look);
    resized.observe(element);
    for (const child of element.children) resized.observe(child);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  const scrolls = more.left || more.right;
  return (
    <div class={`scroller ${more.left ? "more-left" : ""} ${more.right ? "more-right" : ""}`}>
      {/* Scrollable content must be reachable by keyboard. */}
      <div class="scroll" ref={place} {...(scrolls ? { tabIndex: 0, role: "region", "aria-label": label } : {})}>
        {children}
      </div>
    </div>
  );
}
