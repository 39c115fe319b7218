import type { IncomingHttpHeaders } from 'node:http';
import type { Usage } from './chat-answer.ts';
import type { EmbeddingUsage } from './embeddings.ts';
import type { ChargedMessage } from './messages/message-usage.ts';
import type { ChargedResponse } from './responses/response-usage.ts';

export type ChargedUsage = Usage | EmbeddingUsage | ChargedMessage | ChargedResponse;

/** The record of one request to `/v1`. Only one of `finished_at` and `client_closed_at` is set. */
export interface SimulatorRequest {
  seq: number;
  /** Time of arrival in milliseconds since the epoch, like all times here. */
  at: number;
  method: string;
  /** Including the query string. */
  path: string;
  /** As received, with credentials replaced by `matched`, `mismatched` or, if no key is required, `present`. */
  headers: IncomingHttpHeaders;
  /** The first 64 KiB of the body as text; `raw_bytes` has all of it, but only in this process. */
  raw_body: string;
  raw_bytes: Buffer;
  /** The parsed body; null if it is missing or not JSON. */
  body: unknown;
  /** `x_simulator.id`. */
  id: string | null;
  /** Number of the request among those with the same id, from 1; null without an id. */
  attempt: number | null;
  model: string | null;
  /** `chatcmpl-…`, `msg_…` or `resp_…`; null for responses without an id. */
  response_id: string | null;
  /** Null until the headers are written. */
  status: number | null;
  /** Number of events written, without the last one of a stream (`[DONE]`, `message_stop`). */
  chunks_sent: number;
  /**
   * The usage that the provider charges, in the fields of chat completions for all APIs, even if it was not delivered;
   * null for errors.
   */
  usage: ChargedUsage | null;
  /** Whether the usage was delivered: the whole unary body, or the event that contains all of it. */
  usage_delivered: boolean;
  /** Time at which the simulator ended the response, in order or by cutting the connection. */
  finished_at: number | null;
  /** Time at which the client disconnected before the end of the response. */
  client_closed_at: number | null;
}

export interface LedgerSum {
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** Totals since the start or the last reset, including dropped records. */
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
/** Records are dropped in batches, because shifting a large array is slow. */
const dropBatch = 1_000;
const maxRawBytes = 64 * 1024 * 1024;

/** Stores the newest requests, limited in number and size, and sums up charged usage. */
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

  /** Notifies waiting tests. Call it after every change that a test may wait for. */
  changed(record: SimulatorRequest): void {
    for (const waiter of this.#waiters) consult(waiter, record);
  }

  /** Called once for each record, when its connection is finished. */
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
    // Keeps the newest record even if it alone is too large, because a test is about to read it.
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
