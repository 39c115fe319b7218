import { lookup } from 'node:dns/promises';
import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { refreshMs, restMs, stopRestMs } from '../bounds.ts';

const dnsScheme = 'dns:///';

export interface AddressListOptions {
  /** Default: the system's resolver. */
  lookup?: (name: string) => Promise<readonly { address: string; family: number }[]>;
  everyMs?: number;
}

/**
 * The replicas of a service, used in turn: the addresses of a comma list, or those behind `dns:///name:port`, which is
 * resolved every two seconds.
 */
export class AddressList {
  readonly #configured: readonly string[];
  readonly #log: Logger;
  readonly #resting = new Map<string, number>();
  readonly #silent = new Set<string>();
  #addresses: readonly string[];
  readonly #lookup: NonNullable<AddressListOptions['lookup']>;
  readonly #refreshing: BackgroundLoop;
  readonly #everyMs: number;
  /** Whether the last lookup failed. Only the first failure in a row is logged. */
  #unknown = false;
  #next = 0;

  constructor(configured: readonly string[], log: Logger, options: AddressListOptions = {}) {
    this.#lookup = options.lookup ?? ((name) => lookup(name, { all: true }));
    this.#everyMs = options.everyMs ?? refreshMs;
    this.#refreshing = new BackgroundLoop(() => this.#refresh());
    this.#configured = configured;
    this.#addresses = configured.filter((address) => !address.startsWith(dnsScheme));
    this.#log = log;
  }

  async start(): Promise<void> {
    if (!this.#configured.some((address) => address.startsWith(dnsScheme))) return;
    this.#refreshing.start(await this.#refresh());
  }

  stop(): void {
    // Not awaited: a lookup may hang.
    void this.#refreshing.stop();
  }

  /** The next address as `host:port`, never `except`; null without one. */
  next(except: string | null = null): string | null {
    const others =
      except === null ? this.#addresses : this.#addresses.filter((address) => address !== except);
    const usable = this.#usable(others);
    const candidates = usable.length > 0 ? usable : others;
    this.#next = (this.#next + 1) % Math.max(1, candidates.length);
    return candidates[this.#next] ?? null;
  }

  #usable(addresses: readonly string[]): readonly string[] {
    // The usual case, without a copy for each request.
    if (this.#resting.size === 0 && this.#silent.size === 0) return addresses;
    const now = monotonicMs();
    return addresses.filter(
      (address) => (this.#resting.get(address) ?? 0) <= now && !this.#silent.has(address),
    );
  }

  /** An address refused a connection. */
  refused(address: string): void {
    this.#resting.set(address, monotonicMs() + restMs);
  }

  /** The replica at an address announced its stop: it still serves requests, but soon closes its connections. */
  stops(address: string): void {
    this.#resting.set(address, monotonicMs() + stopRestMs);
  }

  /** The replica at an address answers and does not stop: another one has taken its place. */
  serves(address: string): void {
    this.#resting.delete(address);
  }

  get all(): readonly string[] {
    return this.#addresses;
  }

  /** Sets whether an address hangs. Hanging addresses are skipped, unless all hang. */
  noteSilent(address: string, silent: boolean): void {
    if (silent === this.#silent.has(address) || !this.#addresses.includes(address)) return;
    if (silent) this.#silent.add(address);
    else this.#silent.delete(address);
    this.#log.warn({ address }, silent ? 'skipping a replica that hangs' : 'replica answers again');
  }

  async #refresh(): Promise<number> {
    try {
      const resolved = await Promise.all(this.#configured.map((address) => this.#resolve(address)));
      this.#addresses = resolved.flat().sort();
      this.#unknown = false;
      for (const known of [this.#resting, this.#silent])
        for (const address of known.keys()) if (!this.#addresses.includes(address)) known.delete(address);
    } catch (error) {
      // The last addresses stay in use: a failure of the name server must not drop traffic.
      if (!this.#unknown) this.#log.warn({ err: error }, 'failed to resolve the addresses of a service');
      this.#unknown = true;
    }
    return this.#everyMs;
  }

  async #resolve(address: string): Promise<string[]> {
    if (!address.startsWith(dnsScheme)) return [address];
    const { hostname, port } = new URL(`http://${address.slice(dnsScheme.length)}`);
    const records = await this.#lookup(hostname);
    return records.map(({ address: ip, family }) => (family === 6 ? `[${ip}]:${port}` : `${ip}:${port}`));
  }
}
