import { AnswerBudget, type AnswerRoom } from '@gatehouse/kit/answer-budget';
import { AppError } from '@gatehouse/kit/errors';
import { JsonScan } from '@gatehouse/kit/json-scan';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { McpFailure } from './failure.ts';
import { rpcMessage, type RpcMessage } from './rpc-message.ts';
import { maxMessages, readAtOnceBytes, scannedBytes } from '../bounds.ts';

/**
 * Limits on the values of a body and on their depth. Parsing takes up to 40 ms at these limits (26,000 objects of
 * different members), and 12 ms for 100 tools of 300 properties.
 */
const most = { values: 80_000, depth: 64 };

const MiB = 1024 * 1024;
/** Bytes of large bodies in memory until they are read. Reading one, which takes several times its size, comes on top. */
const memory = { perTenant: 16 * MiB, perProcess: 48 * MiB };

/** Reads messages of servers in pieces, each holding up the event loop for less than 50 ms. */
export class MessageReader {
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
  async read(tenantId: string, body: Buffer, signal?: AbortSignal): Promise<RpcMessage[] | null> {
    const turn = <Result>(piece: () => Result): Result | Promise<Result> =>
      body.length <= readAtOnceBytes ? piece() : inTurnOf(tenantId, piece, signal);
    const scan = new JsonScan();
    for (let from = 0; from < body.length; from += scannedBytes) {
      await turn(() => scan.add(body, from, Math.min(body.length, from + scannedBytes)));
      if (scan.values > most.values || scan.depth > most.depth) throw new McpFailure('too_large');
    }
    const value = await turn(() => parsed(body));
    if (value === undefined) return null;
    const values = Array.isArray(value) ? (value as unknown[]) : [value];
    if (values.length > maxMessages) throw new McpFailure('too_large');
    return turn(() =>
      values.map((each) => rpcMessage(each, body.length)).filter((message) => message !== null),
    );
  }
}

async function inTurnOf<Result>(
  tenantId: string,
  piece: () => Result,
  signal: AbortSignal | undefined,
): Promise<Result> {
  try {
    return await runCooperatively(tenantId, piece, signal);
  } catch (error) {
    throw error instanceof AppError ? new McpFailure('busy') : error;
  }
}

/** Drops a byte order mark, which some frameworks write. */
const decoder = new TextDecoder();

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(body));
  } catch {
    return undefined;
  }
}
