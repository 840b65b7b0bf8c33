/**
 * Formats a number for people: four significant digits, thousands separators, exponents for very small and large
 * numbers.
 */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e9) {
    const [mantissa, exponent] = value.toExponential(2).split("e") as [string, string];
    return `${mantissa.replace(/\.?0+$/, "")}e${exponent.replace("+", "")}`;
  }
  if (Number.isInteger(value) || size >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(4)));
}

/** Formats a share from 0 to 1 as a percentage with one decimal. */
export function formatPercent(share: number): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(1)}%` : String(share);
}

/** Formats a number of bytes with three significant digits: `24.9 MB`, `4.21 GB`, `1,230 GB`. */
export function formatBytes(bytes: number): string {
  const [size, unit] = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${Number((bytes / size).toPrecision(3)).toLocaleString("en-US")} ${unit}`;
}

/**
 * Formats an amount of money: `$12.30`, `$1,204.00`. Amounts below a cent have two significant digits (`$0.0012`), down
 * to a millionth.
 */
export function formatMoney(amount: number, currency: string = "$"): string {
  if (!Number.isFinite(amount)) return String(amount);
  const size = Math.abs(amount);
  const sign = amount < 0 ? "-" : "";
  if (size > 0 && size < 1e-6) return `less than ${currency}0.000001`;
  const digits = size === 0 || size >= 0.01 ? 2 : 1 - Math.floor(Math.log10(size));
  const text = size.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: digits });
  return `${sign}${currency}${text}`;
}

/** Formats a duration in its two largest units: `850 ms`, `4.2 s`, `3m 05s`, `2h 10m`, `3d 04h`. */
export function formatDuration(milliseconds: number): string {
  if (!Number.isFinite(milliseconds) || milliseconds < 0) return "–";
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)}d ${two(hours % 24)}h`;
}

/** Formats a count in short form: `950`, `12.3K`, `134.5M`. */
export function formatCount(count: number): string {
  if (!Number.isFinite(count)) return String(count);
  for (const [size, unit] of [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e4, "K"],
  ] as const) {
    if (Math.abs(count) >= size) {
      const scaled = count / (unit === "K" ? 1e3 : size);
      return `${Number(scaled.toPrecision(4)).toString()}${unit}`;
    }
  }
  return Math.round(count).toLocaleString("en-US");
}
