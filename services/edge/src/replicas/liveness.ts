import { request, type ClientRequest, type RequestOptions } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { checkServiceName, type CertificateFiles } from '@gatehouse/kit/certificate-files';
import type { AddressList } from './address-list.ts';
import { silencesToRest } from '../bounds.ts';

export interface LivenessOptions {
  everyMs?: number;
  /** A replica counts as silent if it takes longer to answer. */
  patienceMs?: number;
  /** For TLS with the service, whose certificate must have this name. */
  tls?: { service: string; certificate: CertificateFiles } | undefined;
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
  readonly #tls: LivenessOptions['tls'];
  readonly #silences = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(addresses: AddressList, options: LivenessOptions = {}) {
    this.#addresses = addresses;
    this.#everyMs = options.everyMs ?? 1_000;
    this.#tls = options.tls;
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
      void this.#healthOf(address).then((health) => {
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

  /** Silent only after a timeout: a refused connection counts as an answer. */
  #healthOf(address: string): Promise<Health> {
    return new Promise((resolve) => {
      // Asked to keep the connection, a replica closes it only if it stops. Without an agent it is not kept anyway.
      const headers = { connection: 'keep-alive' };
      const options = { agent: false, timeout: this.#patienceMs, headers, path: '/livez' } as const;
      const probe = this.#request(address, options);
      probe.on('response', (response) => {
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

  #request(address: string, options: RequestOptions): ClientRequest {
    if (this.#tls === undefined) return request(`http://${address}`, options);
    const { service, certificate } = this.#tls;
    const { context: secureContext } = certificate.current;
    const secure = { servername: service, secureContext, checkServerIdentity: checkServiceName };
    return requestSecurely(`https://${address}`, { ...options, ...secure });
  }
}
