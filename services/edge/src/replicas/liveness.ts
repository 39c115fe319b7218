import { request } from 'node:http';
import type { AddressList } from './address-list.ts';

export interface LivenessOptions {
  everyMs?: number;
  /** How long a replica may take to answer. */
  patienceMs?: number;
}

/** One slow answer is a full core or a long garbage collection; so many in a row are a replica that hangs. */
const silencesToRest = 2;

/**
 * Asks the replicas of a service every second whether they live. One that hangs still takes connections, by its
 * kernel's hand, and would keep each request in turn until it goes on; one that is gone refuses them, which shows
 * without asking. Any answer will do, a 404 as well. A single replica isn't asked: there is no other to turn to.
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

/** False only for silence: a refusal is an answer too. */
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
