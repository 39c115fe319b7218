/** How many connections to databases a process opens at most, by server: its services may use several. */
export class ConnectionCount {
  /** Connections of all the process's pools for work of tenants, together. */
  readonly shared: number;
  readonly #separate = new Map<string, number>();
  readonly #sharing = new Map<string, number>();
  readonly #checked = new Set<string>();

  constructor(shared = Infinity) {
    this.shared = shared;
  }

  /** `isShared`: the connections are among the `shared` ones. */
  add(url: string, connections: number, { isShared = false } = {}): void {
    const counts = isShared ? this.#sharing : this.#separate;
    const host = hostOf(url);
    counts.set(host, (counts.get(host) ?? 0) + connections);
  }

  /** To the server of this URL. */
  countOf(url: string): number {
    const host = hostOf(url);
    const sharing = Math.min(this.#sharing.get(host) ?? 0, this.shared);
    return (this.#separate.get(host) ?? 0) + sharing;
  }

  /** True for the first caller about to check the server of this URL. */
  begin(url: string): boolean {
    const isFirst = !this.#checked.has(hostOf(url));
    this.#checked.add(hostOf(url));
    return isFirst;
  }
}

function hostOf(url: string): string {
  return new URL(url).host;
}
