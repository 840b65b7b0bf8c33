import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { LineChart } from "../../training/chart.ts";
import type { ChartSection } from "../../training/report-charts.ts";
import { Chart, type ChartLook } from "./chart.tsx";

/** Charts under headings. Closed sections are drawn when they are opened. */
export function ChartSections(props: {
  readonly sections: readonly ChartSection[];
  readonly look: ChartLook;
  /** As in {@link Chart}. */
  readonly colorsOf?: (chart: LineChart) => readonly number[];
}): JSX.Element {
  const { sections, look, colorsOf } = props;
  return (
    <>
      {sections.map((section) => (
        <Section key={section.title} section={section} look={look} {...(colorsOf === undefined ? {} : { colorsOf })} />
      ))}
    </>
  );
}

function Section(props: {
  readonly section: ChartSection;
  readonly look: ChartLook;
  readonly colorsOf?: (chart: LineChart) => readonly number[];
}): JSX.Element {
  const { section, look, colorsOf } = props;
  const { title, charts, collapsed } = section;
  const [open, setOpen] = useState(collapsed !== true);
  return (
    <details class="section" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>{title}</h2> <span class="soft">{charts.length}</span>
      </summary>
      {open && (
        <div class="charts">
          {charts.map((chart) => (
            <Chart
              key={chart.series[0]!.metric}
              chart={chart}
              look={look}
              {...(colorsOf === undefined ? {} : { colors: colorsOf(chart) })}
            />
          ))}
        </div>
      )}
    </details>
  );
}

/** The setting for the smoothing of curves. */
export function SmoothingField(props: {
  readonly smoothing: number;
  readonly change: (smoothing: number) => void;
}): JSX.Element {
  const { smoothing, change } = props;
  return (
    <label class="smoothing">
      <span class="soft">smoothing</span>
      <input
        type="range"
        min="0"
        max="0.99"
        step="0.01"
        value={smoothing}
        onInput={(event) => change(event.currentTarget.valueAsNumber)}
      />
      <output class="number">{smoothing === 0 ? "off" : smoothing.toFixed(2)}</output>
    </label>
  );
}
