import { lookup } from 'node:dns/promises';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';

const refreshMs = 5_000;
/** An address that refused a connection is passed over this long, unless all of them did. */
const restMs = 1_000;

/**
 * The replicas of a service, taken in turn: a comma list as it is, or the addresses behind `dns:///name:port`, looked
 * up again every five seconds.
 */
export class AddressList {
  readonly #configured: readonly string[];
  readonly #log: Logger;
  readonly #resting = new Map<string, number>();
  readonly #silent = new Set<string>();
  #addresses: readonly string[];
  #next = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(configured: readonly string[], log: Logger) {
    this.#configured = configured;
    this.#addresses = configured.filter((address) => !address.startsWith(dnsScheme));
    this.#log = log;
  }

  async start(): Promise<void> {
    if (!this.#configured.some((address) => address.startsWith(dnsScheme))) return;
    await this.#refresh();
    this.#timer = setInterval(() => void this.#refresh(), refreshMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The next address as `host:port`, another one than `except` if there is any; null when there is none. */
  next(except: string | null = null): string | null {
    const now = monotonicMs();
    const others = this.#addresses.filter((address) => address !== except);
    const usable = others.filter(
      (address) => (this.#resting.get(address) ?? 0) <= now && !this.#silent.has(address),
    );
    const candidates = usable.length > 0 ? usable : others;
    this.#next = (this.#next + 1) % Math.max(1, candidates.length);
    return candidates[this.#next] ?? null;
  }

  /** Notes that an address refused a connection. */
  refused(address: string): void {
    this.#resting.set(address, monotonicMs() + restMs);
  }

  get all(): readonly string[] {
    return this.#addresses;
  }

  /** Notes whether an address hangs; one that does is passed over, unless all do. */
  noteSilent(address: string, silent: boolean): void {
    if (silent === this.#silent.has(address)) return;
    if (silent) this.#silent.add(address);
    else this.#silent.delete(address);
    this.#log.warn({ address }, silent ? 'a replica hangs and is passed over' : 'a replica answers again');
  }

  async #refresh(): Promise<void> {
    try {
      const found = await Promise.all(this.#configured.map(resolve));
      this.#addresses = found.flat().sort();
    } catch (error) {
      // The last answer stays good: a name server's hiccup is no reason to drop traffic.
      this.#log.warn({ err: error }, 'could not look up the addresses of a service');
    }
  }
}

const dnsScheme = 'dns:///';

async function resolve(address: string): Promise<string[]> {
  if (!address.startsWith(dnsScheme)) return [address];
  const { hostname, port } = new URL(`http://${address.slice(dnsScheme.length)}`);
  const found = await lookup(hostname, { all: true });
  return found.map(({ address: ip, family }) => (family === 6 ? `[${ip}]:${port}` : `${ip}:${port}`));
}
