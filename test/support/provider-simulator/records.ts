import type { IncomingHttpHeaders } from 'node:http';
import type { Usage } from './chat-answer.ts';
import type { EmbeddingUsage } from './embeddings.ts';

/** What the simulator knows of one request to `/v1`. `finished_at` and `client_closed_at` exclude each other. */
export interface SimulatorRequest {
  seq: number;
  /** Arrival, in milliseconds since the epoch, as all times here. */
  at: number;
  method: string;
  /** With its query string. */
  path: string;
  /** As received, credentials replaced by `matched`, `mismatched` or, where no key is asked for, `present`. */
  headers: IncomingHttpHeaders;
  /** The body as text, its first 64 KiB; `raw_bytes` has all of it, in process only. */
  raw_body: string;
  raw_bytes: Buffer;
  /** The parsed body; null without one or when it isn't JSON. */
  body: unknown;
  /** `x_simulator.id`. */
  id: string | null;
  /** Counts the requests with that id from 1; null without an id. */
  attempt: number | null;
  model: string | null;
  /** `chatcmpl-…`; null for everything that isn't a chat answer. */
  response_id: string | null;
  /** Null until the headers were written. */
  status: number | null;
  /** `chat.completion.chunk` events written. */
  chunks_sent: number;
  /** What the provider would charge: set even if it never gets to say so; null for errors. */
  usage: Usage | EmbeddingUsage | null;
  /** The usage was written in full: the whole unary body, or the chunk that carries it. */
  usage_delivered: boolean;
  /** When the simulator was done with it, by an orderly end or by its own cut. */
  finished_at: number | null;
  /** When the client's connection closed before the answer was finished. */
  client_closed_at: number | null;
}

export interface LedgerSum {
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** Everything since the start or the last reset, also what is no longer among the records. */
export interface LedgerTotals {
  requests: number;
  open: number;
  by_status: Record<string, number>;
  delivered: LedgerSum;
  undelivered: LedgerSum;
}

export type LedgerRow = Pick<
  SimulatorRequest,
  | 'seq'
  | 'id'
  | 'attempt'
  | 'response_id'
  | 'model'
  | 'status'
  | 'usage'
  | 'usage_delivered'
  | 'finished_at'
  | 'client_closed_at'
>;

export interface Ledger {
  totals: LedgerTotals;
  requests: LedgerRow[];
}

interface Waiter {
  predicate: (request: SimulatorRequest) => boolean;
  settle: (outcome: SimulatorRequest | Error) => void;
}

const maxRecords = 20_000;
/** Dropping in batches keeps the cost of shifting a large array off the requests. */
const dropBatch = 1_000;
const maxRawBytes = 64 * 1024 * 1024;

/** Keeps the newest requests, within bounds of number and size, and adds up what was charged. */
export class Recorder {
  #records: SimulatorRequest[] = [];
  #rawBytes = 0;
  #lastSeq = 0;
  #resetSeq = 0;
  #totals = emptyTotals();
  readonly #waiters = new Set<Waiter>();
  readonly #keep: boolean;

  constructor(keep: boolean) {
    this.#keep = keep;
  }

  get requests(): readonly SimulatorRequest[] {
    return this.#records;
  }

  nextSeq(): number {
    return ++this.#lastSeq;
  }

  add(record: SimulatorRequest): void {
    this.#totals.requests++;
    this.#totals.open++;
    if (!this.#keep) return;
    this.#records.push(record);
    this.#rawBytes += record.raw_bytes.length;
    if (this.#records.length >= maxRecords + dropBatch || this.#rawBytes > maxRawBytes) this.#dropOldest();
  }

  /** Tells those who wait; called after every change that a test may wait for. */
  changed(record: SimulatorRequest): void {
    for (const waiter of this.#waiters) consult(waiter, record);
  }

  /** Called once for each record, when its connection is done with it. */
  settled(record: SimulatorRequest): void {
    if (record.seq > this.#resetSeq) addTo(this.#totals, record);
    this.changed(record);
  }

  waitFor(predicate: Waiter['predicate'], timeoutMs: number): Promise<SimulatorRequest> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiter.settle(new Error(`no request matched in ${timeoutMs} ms (${this.#records.length} recorded)`));
      }, timeoutMs);
      const waiter: Waiter = {
        predicate,
        settle: (outcome) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      this.#waiters.add(waiter);
      for (const record of this.#records) {
        if (consult(waiter, record)) return;
      }
    });
  }

  ledger(): Ledger {
    return { totals: structuredClone(this.#totals), requests: this.#records.map(ledgerRow) };
  }

  reset(): void {
    this.#records = [];
    this.#rawBytes = 0;
    this.#resetSeq = this.#lastSeq;
    this.#totals = emptyTotals();
  }

  #dropOldest(): void {
    let dropped = Math.max(0, this.#records.length - maxRecords);
    let bytes = this.#records.slice(0, dropped).reduce((sum, record) => sum + record.raw_bytes.length, 0);
    // The newest stays even if it alone is too large: a test is about to look at it.
    while (this.#rawBytes - bytes > maxRawBytes && dropped < this.#records.length - 1) {
      bytes += this.#records[dropped]?.raw_bytes.length ?? 0;
      dropped++;
    }
    this.#records.splice(0, dropped);
    this.#rawBytes -= bytes;
  }
}

function consult(waiter: Waiter, record: SimulatorRequest): boolean {
  try {
    const matches = waiter.predicate(record);
    if (matches) waiter.settle(record);
    return matches;
  } catch (error) {
    waiter.settle(error instanceof Error ? error : new Error(String(error)));
    return true;
  }
}

function emptyTotals(): LedgerTotals {
  const sum = (): LedgerSum => ({ requests: 0, prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  return { requests: 0, open: 0, by_status: {}, delivered: sum(), undelivered: sum() };
}

function addTo(totals: LedgerTotals, record: SimulatorRequest): void {
  const status = String(record.status ?? 'none');
  totals.open--;
  totals.by_status[status] = (totals.by_status[status] ?? 0) + 1;
  if (record.usage === null) return;
  const sum = record.usage_delivered ? totals.delivered : totals.undelivered;
  sum.requests++;
  sum.prompt_tokens += record.usage.prompt_tokens;
  sum.completion_tokens += 'completion_tokens' in record.usage ? record.usage.completion_tokens : 0;
  sum.total_tokens += record.usage.total_tokens;
}

function ledgerRow(record: SimulatorRequest): LedgerRow {
  const { seq, id, attempt, response_id, model, status } = record;
  const { usage, usage_delivered, finished_at, client_closed_at } = record;
  return {
    seq,
    id,
    attempt,
    response_id,
    model,
    status,
    usage,
    usage_delivered,
    finished_at,
    client_closed_at,
  };
}
