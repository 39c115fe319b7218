import { request } from 'node:http';
import type { AddressList } from './address-list.ts';

export interface LivenessOptions {
  everyMs?: number;
  /** A replica that takes longer to answer counts as silent. */
  patienceMs?: number;
}

/** One slow answer may be a busy core or a long garbage collection; two in a row mean that the replica hangs. */
const silencesToRest = 2;

/**
 * Checks every second that the replicas of a service answer. The kernel accepts connections for a process that hangs, so
 * without this check every request in its turn would wait; a replica that is gone refuses connections, which the
 * requests themselves detect. Any answer counts, a 404 too. A single replica is not checked: there is no alternative.
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
      void answers(address, this.#patienceMs).then((answered) => this.#note(address, answered));
    }
  }

  #note(address: string, answered: boolean): void {
    const silences = answered ? 0 : (this.#silences.get(address) ?? 0) + 1;
    if (answered) this.#silences.delete(address);
    else this.#silences.set(address, silences);
    this.#addresses.noteSilent(address, silences >= silencesToRest);
  }
}

/** False only for silence: a refused connection counts as an answer. */
function answers(address: string, patienceMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request(`http://${address}/livez`, { agent: false, timeout: patienceMs }, (response) => {
      response.resume();
      resolve(true);
    });
    probe.on('timeout', () => {
      resolve(false);
      probe.destroy();
    });
    probe.on('error', () => resolve(true));
    probe.end();
  });
}
