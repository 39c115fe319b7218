import { AppError } from '@gatehouse/kit/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { StateFormat } from '../dialects/state-format.ts';
import type { KeepAnswer } from '../runs/run.ts';
import { elementRanges, isParsable, memberRanges, parsedPart, wholeOf } from '../wire/json-parts.ts';
import {
  deleteResponse,
  findContent,
  findConversation,
  insertResponse,
  readContents,
  type Holder,
} from './kept-response-system-store.ts';
import { runIdOf } from './response-id.ts';

/** Responses of one conversation, and the bytes of all: as much as a request may have. */
const most = { responses: 1_000, bytes: 20 * 1024 * 1024 };
/** More than any response or request has. */
const maxItems = 100_000;

/** A holder, and the days for which its tenant keeps responses. */
export interface Reader extends Holder {
  days: number;
}

interface Asking {
  format: StateFormat;
  provider: string;
  reserve: (bytes: number) => void;
}

export interface KeptResponse {
  /** The items of its request's own input: a JSON array. */
  input: Buffer;
  /** A JSON object. */
  response: Buffer;
}

/** Responses that clients may read and go on from, on every replica. */
export class KeptResponses {
  readonly #pool: Pool;
  readonly #keyRing: KeyRing;

  constructor({ pool, keyRing }: { pool: Pool; keyRing: KeyRing }) {
    this.#pool = pool;
    this.#keyRing = keyRing;
  }

  /**
   * The items of a response and of all that it went on from, oldest first. `provider`: the one that gets them. `reserve`
   * is called with the bytes that are read, before they are. Throws what it throws, and `previous_response_not_found` if a
   * response is gone, in the same words for every reason.
   */
  async conversation(
    previousId: string,
    { format, provider, reserve, ...reader }: Reader & Asking,
  ): Promise<Buffer[]> {
    const id = runIdOf(previousId);
    const found = { ...reader, max: most.responses };
    const rows = id === null ? [] : await findConversation(this.#pool, id, found);
    const isWhole = rows.length > 0 && rows.at(-1)?.previous_id === null;
    if (rows.length === most.responses && !isWhole) throw tooLong();
    if (!isWhole) throw previousNotFound();
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    if (bytes > most.bytes) throw tooLong();
    reserve(bytes);
    const contents = await readContents(
      this.#pool,
      rows.map((row) => row.id),
    );
    const items: Buffer[] = [];
    for (const row of rows.toReversed()) {
      const content = contents.get(row.id);
      if (content === undefined) throw previousNotFound();
      const sameProvider = row.provider === provider;
      items.push(
        ...(await this.#itemsOf(this.#open(row.id, content, reader), { ...reader, format, sameProvider })),
      );
    }
    return items;
  }

  /** Keeps the answer of a request, whose own input this is. `previousId`: the response that it goes on from. */
  keeping({
    input,
    previousId,
    days,
    ...holder
  }: Reader & { input: Buffer; previousId: string | null }): KeepAnswer {
    return async (response, { id, provider }) => {
      const parts = ['{"input":', input, ',"response":', response, '}'];
      const plain = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
      const content = this.#keyRing.seal(plain, contextOf(id, holder));
      const previous = previousId === null ? null : runIdOf(previousId);
      await insertResponse(this.#pool, { ...holder, id, previousId: previous, provider, content, days });
    };
  }

  /** Null for a response that is not there, or not the reader's. */
  async find(responseId: string, reader: Reader): Promise<KeptResponse | null> {
    const id = runIdOf(responseId);
    const content = id === null ? null : await findContent(this.#pool, id, reader);
    return id === null || content === null
      ? null
      : this.#partsOf(this.#open(id, content, reader), reader.tenantId);
  }

  /** Returns false if there is none. */
  async delete(responseId: string, holder: Holder): Promise<boolean> {
    const id = runIdOf(responseId);
    return id !== null && deleteResponse(this.#pool, id, holder);
  }

  #open(id: string, content: Buffer, holder: Holder): Buffer {
    return this.#keyRing.open(content, contextOf(id, holder));
  }

  async #partsOf(plain: Buffer, tenantId: string): Promise<KeptResponse> {
    const members = await memberRanges(plain, wholeOf(plain), tenantId);
    const part = (name: string): Buffer => {
      const range = members?.get(name);
      if (range === undefined) throw new Error(`a kept response has no ${name}`);
      return plain.subarray(range.from, range.until);
    };
    return { input: part('input'), response: part('response') };
  }

  async #itemsOf(
    plain: Buffer,
    { tenantId, format, sameProvider }: Reader & { format: StateFormat; sameProvider: boolean },
  ): Promise<Buffer[]> {
    const { input, response } = await this.#partsOf(plain, tenantId);
    const output = (await memberRanges(response, wholeOf(response), tenantId))?.get('output');
    const lists = output === undefined ? [input] : [input, response.subarray(output.from, output.until)];
    const kept: Buffer[] = [];
    for (const list of lists)
      for (const item of await elementsIn(list, tenantId)) {
        const range = wholeOf(item);
        const isRead = await isParsable(item, range, tenantId);
        if (!isRead || format.goesOn(await parsedPart(item, range, tenantId), sameProvider)) kept.push(item);
      }
    return kept;
  }
}

/** The JSON texts of the elements of an array. */
export async function elementsIn(list: Buffer, tenantId: string): Promise<Buffer[]> {
  const ranges = await elementRanges(list, wholeOf(list), { tenantId, max: maxItems });
  if (ranges === null) throw new Error('a kept response has no list of items');
  const texts = ranges.map(({ from, until }) => list.subarray(from, until));
  return texts.filter((text) => text.toString('latin1').trim() !== '');
}

/** Another tenant or user can't open it. */
function contextOf(id: string, { tenantId, userId }: Holder): string {
  return JSON.stringify(['response', tenantId, userId, id]);
}

function previousNotFound(): AppError {
  return new AppError(
    'previous_response_not_found',
    'There is no response with this previous_response_id, or one that it goes on from is gone. Send the conversation in input.',
    { param: 'previous_response_id' },
  );
}

function tooLong(): AppError {
  return new AppError(
    'payload_too_large',
    `The conversation of previous_response_id has more than ${most.responses} responses or ${most.bytes} bytes.`,
    { param: 'previous_response_id' },
  );
}
