/** Labels with their values, by name. */
type Labels = Partial<Record<string, string | number>>;

/** Values of a label, with the levels of the next label; of the last one with the rows. */
type Level = Map<unknown, unknown>;

/**
 * Rows of a metric of prom-client by the values of their labels. It finds a row by one look-up a label, without a text
 * of all values. There are no more entries than prom-client has rows, but for numbers that were texts before.
 */
export class LabelRows<Row extends { labels: Labels }> {
  readonly #names: readonly string[];
  /** In the order of prom-client's texts. */
  readonly #sorted: readonly string[];
  #root: Level = new Map();
  /** The rows by their texts, as prom-client holds them. A reset replaces them. */
  #rows: Record<string, Row> | null = null;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#sorted = names.toSorted();
  }

  /** Undefined while prom-client has none for these labels, as before their first use. */
  find(labels: Labels | null, rows: Record<string, Row>): Row | undefined {
    if (labels === null || this.#names.length === 0) return undefined;
    if (rows !== this.#rows) {
      this.#rows = rows;
      this.clear();
    }
    let level: unknown = this.#root;
    for (const name of this.#names) {
      level = (level as Level).get(labels[name]);
      if (level === undefined) return this.#add(labels, rows);
    }
    return level as Row;
  }

  /** To be called when prom-client drops or replaces a row. */
  clear(): void {
    this.#root = new Map();
  }

  #add(labels: Labels, rows: Record<string, Row>): Row | undefined {
    const names = this.#names;
    if (Object.keys(labels).some((name) => !names.includes(name))) return undefined;
    const text = this.#sorted.map((name) => textOf(name, labels[name])).join('');
    const row = Object.hasOwn(rows, text) ? rows[text] : undefined;
    if (row === undefined) return undefined;
    let level = this.#root;
    for (const name of names.slice(0, -1)) {
      const next = (level.get(labels[name]) as Level | undefined) ?? new Map<unknown, unknown>();
      level.set(labels[name], next);
      level = next;
    }
    level.set(labels[names.at(-1) ?? ''], row);
    return row;
  }
}

/** A label in prom-client's text of all of them (`hashObject` of its `lib/util.js`), which leaves out missing values. */
function textOf(name: string, value: string | number | undefined): string {
  return value === undefined ? '' : `${name}:${value},`;
}
