import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { AnswerBudget, type AnswerRoom } from '@gatehouse/kit/answer-budget';
import { isLarger } from '@gatehouse/kit/json-size';
import { Turns } from '@gatehouse/kit/turns';
import { McpFailure } from './failure.ts';
import { rpcMessage, type RpcMessage } from './rpc-message.ts';

/** Messages of one body. */
const maxBatch = 100;
/**
 * Of the values of a body, and of how deep they lie. Parsing takes up to 40 ms at these limits (26,000 objects of
 * different members), and 12 ms for 100 tools of 300 properties.
 */
const most = { values: 80_000, depth: 64 };
/** Smaller bodies are read at once: that takes a millisecond. */
const smallBytes = 16 * 1024;
/** One body at a time, since all share the event loop; tenants take turns. */
const turns = { perKey: 1, slots: 1, maxWaiting: 1_000, tooMany: () => new McpFailure('busy') };

const MiB = 1024 * 1024;
/** Bytes of large bodies in memory until they are read. Reading one, which takes several times its size, comes on top. */
const memory = { perTenant: 16 * MiB, perProcess: 48 * MiB };

/** Reads what servers send in pieces that hold up the event loop for less than 50 ms each. */
export class MessageReader {
  readonly #turns = new Turns(turns);
  readonly answers: AnswerBudget;

  constructor(answers = new AnswerBudget(memory)) {
    this.answers = answers;
  }

  /** The memory for one body of a server. `cut` is called if the server is slow while others wait for the memory. */
  openRoom(tenantId: string, cut: () => void): AnswerRoom {
    const room = this.answers.open(tenantId);
    room.client = { cut };
    return room;
  }

  /**
   * The messages of a body, as {@link rpcMessage} leaves them; null if the body isn't JSON. Throws `McpFailure`:
   * `invalid`, `too_large`, `busy`, and the reason of `signal` if it aborts while others are read.
   */
  read(tenantId: string, body: Buffer, signal?: AbortSignal): Promise<RpcMessage[] | null> {
    if (body.length <= smallBytes) return this.#read(body, () => Promise.resolve());
    // Without a turn of the loop, one body after the other would be one long piece.
    return this.#turns.run(tenantId, () => this.#read(body, turnOfTheLoop), signal);
  }

  async #read(body: Buffer, pause: () => Promise<void>): Promise<RpcMessage[] | null> {
    await pause();
    if (isLarger(body, most)) throw new McpFailure('too_large');
    await pause();
    const value = parsed(body);
    if (value === undefined) return null;
    const values = Array.isArray(value) ? (value as unknown[]) : [value];
    if (values.length > maxBatch) throw new McpFailure('too_large');
    await pause();
    return values.map((each) => rpcMessage(each, body.length)).filter((message) => message !== null);
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
