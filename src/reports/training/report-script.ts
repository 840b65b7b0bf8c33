/**
 * The script of report.html. It shows the values under the pointer. The report is complete without it. It never creates
 * markup from text: names and values are only set through `textContent`.
 */
export const reportScript = `
"use strict";
for (const figure of document.querySelectorAll("figure.chart")) {
  const { x, series } = JSON.parse(figure.querySelector("script").textContent);
  const share = figure.dataset.share === "1";
  const plot = figure.querySelector(".plot");
  const cursor = figure.querySelector(".cursor");
  const tip = figure.querySelector(".tip");
  const viewWidth = figure.querySelector("svg").viewBox.baseVal.width;
  const [minimum, maximum, left, right] = x;
  const show = (value) => {
    if (typeof value === "string") return value;
    if (share) return (value * 100).toFixed(1) + "%";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2);
    return value.toLocaleString("en-US", { maximumSignificantDigits: 5 });
  };
  const nearest = (values, wanted) => {
    let low = 0, high = values.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (values[middle] < wanted) low = middle; else high = middle;
    }
    return Math.abs(values[low] - wanted) <= Math.abs(values[high] - wanted) ? low : high;
  };
  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const wanted = minimum + ((share - left) / (right - left)) * (maximum - minimum);
    let step;
    for (const { from, to } of series) {
      if (from.length === 0) continue;
      const i = nearest(from, wanted);
      const candidate = (from[i] + to[i]) / 2;
      if (step === undefined || Math.abs(candidate - wanted) < Math.abs(step - wanted)) step = candidate;
    }
    if (step === undefined) return;
    const at = left + ((step - minimum) / (maximum - minimum)) * (right - left);
    cursor.setAttribute("x1", at * viewWidth);
    cursor.setAttribute("x2", at * viewWidth);
    const title = element("b");
    const rows = [title];
    series.forEach(({ name, from, to, y, low, high }, index) => {
      const i = from.findIndex((first, j) => first <= step && step <= to[j]);
      if (i < 0) return;
      title.textContent = from[i] === to[i] ? "step " + from[i] : "steps " + from[i] + " to " + to[i] + ", mean";
      const row = element("div");
      const range = low && from[i] !== to[i] ? " (" + show(low[i]) + " to " + show(high[i]) + ")" : "";
      row.append(element("i", "", "key s" + index), name + "  ");
      row.append(element("b", show(y[i])), range);
      rows.push(row);
    });
    tip.replaceChildren(...rows);
    const after = at * box.width + 12;
    const fits = after + tip.offsetWidth <= box.width;
    tip.style.left = Math.max(0, fits ? after : at * box.width - 12 - tip.offsetWidth) + "px";
    tip.style.visibility = cursor.style.visibility = "visible";
  });
  plot.addEventListener("pointerleave", () => {
    tip.style.visibility = cursor.style.visibility = "hidden";
  });
}
`;
