/** The byte ranges of the lines of a text file that are not blank. */
export interface LineIndex {
  readonly length: number;
  /** Returns the bytes [start, end) of row `index`, and its line number from 1. */
  row(index: number): { readonly start: number; readonly end: number; readonly line: number };
}

const lineFeed = 10;
const blankBytes: readonly number[] = [9, 13, 32];

/** Builds a {@link LineIndex} from the bytes of a file, in chunks of any size. */
export class LineIndexer {
  /** The start, the end and the line number of each row. */
  #starts = new Float64Array(1024);
  #ends = new Float64Array(1024);
  #lines = new Uint32Array(1024);
  #rows = 0;
  #position = 0;
  #lineStart = 0;
  #line = 1;
  #blank = true;

  add(bytes: Uint8Array): void {
    let from = 0;
    while (from < bytes.length) {
      const feed = bytes.indexOf(lineFeed, from);
      const to = feed === -1 ? bytes.length : feed;
      if (this.#blank) this.#blank = isBlank(bytes, from, to);
      if (feed !== -1) {
        this.#endLine(this.#position + feed);
        this.#lineStart = this.#position + feed + 1;
      }
      from = to + 1;
    }
    this.#position += bytes.length;
  }

  finish(): LineIndex {
    this.#endLine(this.#position);
    const starts = this.#starts.slice(0, this.#rows);
    const ends = this.#ends.slice(0, this.#rows);
    const lines = this.#lines.slice(0, this.#rows);
    return {
      length: this.#rows,
      row: (index) => ({ start: starts[index]!, end: ends[index]!, line: lines[index]! }),
    };
  }

  #endLine(end: number): void {
    if (!this.#blank) {
      if (this.#rows === this.#starts.length) this.#grow();
      this.#starts[this.#rows] = this.#lineStart;
      this.#ends[this.#rows] = end;
      this.#lines[this.#rows] = this.#line;
      this.#rows++;
    }
    this.#line++;
    this.#blank = true;
  }

  #grow(): void {
    const grown = <Kind extends Float64Array | Uint32Array>(old: Kind, larger: Kind): Kind => {
      larger.set(old);
      return larger;
    };
    this.#starts = grown(this.#starts, new Float64Array(this.#rows * 2));
    this.#ends = grown(this.#ends, new Float64Array(this.#rows * 2));
    this.#lines = grown(this.#lines, new Uint32Array(this.#rows * 2));
  }
}

/** Returns true if [from, to) contains only spaces, tabs and carriage returns. */
function isBlank(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (!blankBytes.includes(bytes[i]!)) return false;
  return true;
}
