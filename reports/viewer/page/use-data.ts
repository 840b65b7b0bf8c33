import { useEffect, useState } from "preact/hooks";

/** The state of data that is being read. */
export interface Loaded<T> {
  /** The latest data, also while newer data is being read. */
  readonly data?: T;
  readonly error?: string;
  readonly loading: boolean;
}

/**
 * Reads data whenever `key` changes and, if `everyMs` is set, repeatedly while the page is visible. Unchanged data
 * causes no drawing.
 */
export function useData<T>(
  load: (signal: AbortSignal) => Promise<T>,
  { key, everyMs }: { readonly key: string; readonly everyMs?: (data: T) => number | undefined },
): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ loading: true });
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let text = "";
    setLoaded((before) => ({ ...before, loading: true }));
    const read = async (): Promise<void> => {
      let again: number | undefined = 4_000;
      if (text === "" || document.visibilityState === "visible") {
        try {
          const data = await load(signal);
          // A source that ignores its signal may return late, when the key has changed.
          if (signal.aborted) return;
          const said = JSON.stringify(data);
          if (said !== text) setLoaded({ data, loading: false });
          text = said;
          again = everyMs?.(data);
        } catch (error) {
          if (signal.aborted) return;
          text = "";
          setLoaded((before) => ({
            ...before,
            error: error instanceof Error ? error.message : String(error),
            loading: false,
          }));
          if (everyMs === undefined) again = undefined;
        }
      }
      if (again !== undefined && !signal.aborted) timer = setTimeout(() => void read(), again);
    };
    void read();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key]);
  return loaded;
}
