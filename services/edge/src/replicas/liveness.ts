import { request } from 'node:http';
import type { AddressList } from './address-list.ts';
import { silencesToRest } from '../bounds.ts';

export interface LivenessOptions {
  everyMs?: number;
  /** A replica counts as silent if it takes longer to answer. */
  patienceMs?: number;
}

type Health = 'serves' | 'stops' | 'refuses' | 'silent';

/**
 * Checks every second whether the replicas of a service answer, and do not stop. The kernel accepts connections for a
 * hanging process, so without this check every request in its turn would wait; a vanished replica refuses connections,
 * which the requests themselves detect. Any answer counts, a 404 too. A single replica is not checked: there is no
 * alternative.
 */
export class Liveness {
  readonly #addresses: AddressList;
  readonly #everyMs: number;
  readonly #patienceMs: number;
  readonly #silences = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(addresses: AddressList, options: LivenessOptions = {}) {
    this.#addresses = addresses;
    this.#everyMs = options.everyMs ?? 1_000;
    this.#patienceMs = options.patienceMs ?? 1_500;
  }

  start(): void {
    this.#timer = setInterval(() => this.#ask(), this.#everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #ask(): void {
    const { all } = this.#addresses;
    for (const address of this.#silences.keys()) if (!all.includes(address)) this.#silences.delete(address);
    if (all.length < 2) return;
    for (const address of all) {
      void healthOf(address, this.#patienceMs).then((health) => {
        if (health === 'stops') this.#addresses.stops(address);
        if (health === 'serves') this.#addresses.serves(address);
        this.#note(address, health !== 'silent');
      });
    }
  }

  #note(address: string, answered: boolean): void {
    const silences = answered ? 0 : (this.#silences.get(address) ?? 0) + 1;
    if (answered) this.#silences.delete(address);
    else this.#silences.set(address, silences);
    this.#addresses.noteSilent(address, silences >= silencesToRest);
  }
}

/** Silent only after a timeout: a refused connection counts as an answer. */
function healthOf(address: string, patienceMs: number): Promise<Health> {
  return new Promise((resolve) => {
    // Asked to keep the connection, a replica closes it only if it stops. Without an agent it is not kept anyway.
    const options = { agent: false, timeout: patienceMs, headers: { connection: 'keep-alive' } };
    const probe = request(`http://${address}/livez`, options, (response) => {
      response.resume();
      resolve(response.headers.connection === 'close' ? 'stops' : 'serves');
    });
    probe.on('timeout', () => {
      resolve('silent');
      probe.destroy();
    });
    probe.on('error', () => resolve('refuses'));
    probe.end();
  });
}
