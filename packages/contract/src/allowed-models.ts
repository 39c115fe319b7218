/** The models open to a tenant: ids, and patterns like `claude-*`, for all ids with this beginning. */
export class AllowedModels {
  readonly entries: readonly string[];
  /** Entries other than patterns. */
  readonly names: ReadonlySet<string>;
  /**
   * Beginnings of ids, in ascending order. No beginning starts with another, so one comparison finds the only
   * candidate.
   */
  readonly #beginnings: readonly string[];

  constructor(entries: readonly string[]) {
    this.entries = entries;
    const names = new Set<string>();
    const beginnings: string[] = [];
    for (const entry of entries) {
      if (entry.endsWith('*')) beginnings.push(entry.slice(0, -1));
      else names.add(entry);
    }
    this.names = names;
    this.#beginnings = withoutCovered(beginnings.sort());
  }

  /** Whether an entry is this id, or a pattern of it. */
  has(id: string): boolean {
    if (this.names.has(id)) return true;
    const beginning = this.#lastUpTo(id);
    return beginning !== undefined && id.startsWith(beginning);
  }

  /** The last beginning up to `id`, in order. */
  #lastUpTo(id: string): string | undefined {
    let [low, high] = [0, this.#beginnings.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#beginnings[middle] ?? '') <= id) low = middle + 1;
      else high = middle;
    }
    return this.#beginnings[low - 1];
  }
}

function withoutCovered(ascending: readonly string[]): string[] {
  const ids: string[] = [];
  for (const beginning of ascending) {
    const last = ids.at(-1);
    if (last === undefined || !beginning.startsWith(last)) ids.push(beginning);
  }
  return ids;
}
