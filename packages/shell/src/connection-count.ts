/** How many connections to databases a process opens at most, by server: its services may use several. */
export class ConnectionCount {
  readonly #most = new Map<string, number>();
  readonly #checked = new Set<string>();

  add(url: string, connections: number): void {
    this.#most.set(hostOf(url), this.of(url) + connections);
  }

  /** To the server of this URL. */
  of(url: string): number {
    return this.#most.get(hostOf(url)) ?? 0;
  }

  /** True for the first caller that is about to check the server of this URL. */
  begin(url: string): boolean {
    const isFirst = !this.#checked.has(hostOf(url));
    this.#checked.add(hostOf(url));
    return isFirst;
  }
}

function hostOf(url: string): string {
  return new URL(url).host;
}
