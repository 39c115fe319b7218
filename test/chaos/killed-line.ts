import type { DialectName } from '@gatehouse/contract/dialects';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import type { StandingFault } from '@gatehouse/test/provider-simulator/faults';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import type { ChaosSystem } from './chaos-system.ts';
import { clientDialects, eventsOf, parsed } from './client-dialect.ts';
import { killOne } from './killing.ts';

/** When a process is killed: beside the provider's answer, or as soon as the client has all of its own. */
export const moments = ['before the answer', 'in the middle', 'after the provider', 'after the end'] as const;
export type Moment = (typeof moments)[number];

/** The provider's behaviour until the process is dead. */
const faults: Readonly<Record<Moment, StandingFault | null>> = {
  'before the answer': { silent: 'before_headers' },
  'in the middle': { chunks: 6, silent: 'mid_stream' },
  'after the provider': null,
  'after the end': null,
};

/** Whether the provider has written so much that the process is killed. */
const reached: Readonly<Record<Moment, (request: SimulatorRequest) => boolean>> = {
  'before the answer': () => true,
  'in the middle': ({ status }) => status !== null,
  'after the provider': ({ finished_at: at }) => at !== null,
  'after the end': () => true,
};

/** The gateway reads that much of an answer before it dies. */
const readMs = 150;
/** Between two tries of a client. */
const paceMs = 200;
const patienceMs = 60_000;

/** One request of a client, under a session of its own. */
export interface Sent {
  session: string;
  /** When the process was killed; null if it wasn't. */
  moment: Moment | null;
  /** Whether the client got a whole answer. */
  isWhole: boolean;
  /** Requests of the provider that this one led to. */
  calls: readonly SimulatorRequest[];
}

/** The connection of a client that sends a request again until it has a whole answer, while a process is killed. */
export class KilledLine {
  /** All requests so far, each of which ends before the next one. */
  readonly sent: Sent[] = [];
  readonly #chaos: ChaosSystem;
  readonly #victim: string;
  #dialect: DialectName = 'chat';
  #kill: { after: number; moment: Moment } | null = null;

  constructor(chaos: ChaosSystem, victim: string) {
    this.#chaos = chaos;
    this.#victim = victim;
  }

  /** Begins a conversation, and plans to kill the process in the request after so many others. */
  begin(dialect: DialectName, kill: { after: number; moment: Moment }): void {
    this.#dialect = dialect;
    this.#kill = kill;
  }

  /** As the global one, with a body that has arrived. */
  readonly fetch: typeof fetch = async (input, init) => {
    const moment = this.#kill?.after === 0 ? this.#kill.moment : null;
    if (this.#kill !== null) this.#kill.after -= 1;
    const first = await this.#send(input, init, moment);
    if (first !== null) return first;
    for (;;) {
      await sleep(paceMs);
      const again = await this.#send(input, init, null);
      if (again !== null) return again;
    }
  };

  /** Returns a whole answer, or null. */
  async #send(
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined,
    moment: Moment | null,
  ): Promise<Response | null> {
    const { simulator } = this.#chaos;
    const before = simulator.requests.at(-1)?.seq ?? 0;
    const session = newId();
    const headers = new Headers(init?.headers);
    headers.set('x-session-id', session);
    const answering = fetch(input, { ...init, headers }).then((response) => this.#wholeOf(response));
    const settled = answering.catch(() => null);
    if (moment !== null) await this.#killAt(moment, { before, settled });
    const response = await settled;
    const calls = simulator.requests.filter(({ seq }) => seq > before);
    this.sent.push({ session, moment, isWhole: response !== null, calls });
    return response;
  }

  async #killAt(moment: Moment, { before, settled }: { before: number; settled: Promise<unknown> }) {
    const { simulator } = this.#chaos;
    const fault = faults[moment];
    const { fault: turn } = (await (await fetch(`${simulator.url}/control/fault`)).json()) as {
      fault: StandingFault | null;
    };
    if (fault !== null) simulator.setFault(fault);
    await simulator.waitForRequest((each) => each.seq > before && reached[moment](each), patienceMs);
    if (moment === 'in the middle') await sleep(readMs);
    if (moment === 'after the end') await settled;
    await killOne(this.#chaos, this.#victim);
    simulator.setFault(turn);
  }

  /** The response with its body; null for an error of the gateway, also as the last event of a stream. */
  async #wholeOf(response: Response): Promise<Response | null> {
    const text = await response.text();
    if (response.status >= 500) return null;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const dialect = clientDialects[this.#dialect];
    const last = isStream ? eventsOf(text).at(-1) : undefined;
    const isWhole = last === undefined ? parsed(text) !== null : dialect.isEnd(last);
    const { status, headers } = response;
    return isWhole ? new Response(text, { status, headers }) : null;
  }
}
