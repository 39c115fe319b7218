import { tracePage, type Trace } from '@gatehouse/contract/traces';
import { sleep } from '@gatehouse/kit/clock';
import type { z } from 'zod';

const pollMs = 250;

/** A client that polls `traces/follow` all the time and keeps what it received. */
export class Follower {
  /** The latest state of each run. */
  readonly latest = new Map<string, Trace>();
  /** Runs whose estimated end was replaced by an exact one. */
  readonly corrected = new Set<string>();
  /** Events that must never happen, in words. */
  readonly complaints: string[] = [];
  readonly #url: string;
  readonly #key: string;
  #cursor: string | undefined;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  start(): void {
    this.#running = this.#keepPolling();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #keepPolling(): Promise<void> {
    while (!this.#stopped) {
      const more = await this.#poll().catch(() => false);
      if (!more) await sleep(pollMs);
    }
  }

  /** One page. Analytics may be down: then the same cursor is asked for again. */
  async #poll(): Promise<boolean> {
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const query = this.#cursor === undefined ? `since=${since}` : `cursor=${this.#cursor}`;
    const response = await fetch(`${this.#url}/v1/traces/follow?limit=7&${query}`, {
      headers: { authorization: `Bearer ${this.#key}` },
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) {
      if (response.status < 500) this.complaints.push(`${response.status}: ${await response.text()}`);
      return false;
    }
    const page = this.#read(await response.json());
    if (page === null) return false;
    this.#cursor = page.next_cursor;
    for (const trace of page.traces) this.#note(trace);
    return page.has_more;
  }

  #read(body: unknown): z.output<typeof tracePage> | null {
    const page = tracePage.safeParse(body);
    if (page.success) return page.data;
    this.complaints.push(page.error.message);
    return null;
  }

  #note(trace: Trace): void {
    const before = this.latest.get(trace.id);
    const corrects =
      before?.status === 'interrupted' && before.usage_estimated && !this.corrected.has(trace.id);
    if (corrects) this.corrected.add(trace.id);
    else if (before !== undefined && before.status !== 'running')
      this.complaints.push(`${trace.id} came as ${trace.status} after it was ${before.status}`);
    this.latest.set(trace.id, trace);
  }
}
