import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { StateFormat } from '@gatehouse/dialects/state-format';
import type { StoreResponse } from '../runs/run.ts';
import {
  elementRanges,
  isParsable,
  memberRanges,
  parsedPart,
  smallMembers,
  wholeOf,
} from '@gatehouse/dialects/wire/json-parts';
import { LargeWork } from '../shared/large-work.ts';
import {
  deleteResponse,
  findConversation,
  findItems,
  findResponses,
  insertResponse,
  readContents,
  type HeldRow,
  type Holder,
  type ResponseRow,
} from './stored-response-row-store.ts';
import { SummarySeals } from './summary-seals.ts';
import { placeId, readPlaceId, responseId, runIdOf, contextOfResponse } from './response-id.ts';
import { createHash } from 'node:crypto';
import { maxNamedBytes } from '@gatehouse/dialects/bounds';
import { maxItemKeys, maxStoredItems } from '../bounds.ts';

/** Responses of one conversation, and the bytes of all. */
const most = { responses: 1_000, bytes: maxNamedBytes };
/** A stored response is an object with these two members. */
const [contentStart, contentMiddle, contentEnd] = [
  Buffer.from('{"input":'),
  Buffer.from(',"response":'),
  Buffer.from('}'),
];

/** A holder, and the days for which its tenant stores responses. */
export interface Reader extends Holder {
  days: number;
}

interface Reading extends Holder {
  format: StateFormat;
  /** The reader of the items. */
  provider: string;
  /** Counts the bytes to be read, before they are. */
  grow: (bytes: number) => void;
}

/** A response and those it went on from, the newest first. */
export type Chain = readonly ResponseRow[];

/** Responses with items named by a client, each with the ids to be read of it. */
export type Holders = ReadonlyMap<HeldRow, ReadonlySet<string>>;

export interface StoredResponse {
  /** The items of its request's own input: a JSON array. */
  input: Buffer;
  /** A JSON object. */
  response: Buffer;
}

/** An item of a response, in JSON. */
interface StoredItem {
  text: Buffer;
  /** The item itself; undefined where it takes too long to parse. */
  value: unknown;
  /** Its own id, or the one of its place in the input; null for one of an output without id. */
  id: string | null;
}

/** An item of a conversation, and whether it stays beside a later summary. */
interface Conversed {
  text: Buffer;
  outlasts: boolean;
}

/** An item named by a client by its id. */
export interface NamedItem {
  /** As it is stored, in JSON. */
  text: Buffer;
  /** The sealed summary, for an item of this kind; null for any other. */
  summary: string | null;
}

/** Responses for clients to read and go on from, on every replica. */
export class StoredResponses {
  readonly #pool: Pool;
  readonly #keyRing: KeyRing;
  readonly summaries: SummarySeals;

  constructor({ pool, keyRing }: { pool: Pool; keyRing: KeyRing }) {
    this.#pool = pool;
    this.#keyRing = keyRing;
    this.summaries = new SummarySeals(keyRing);
  }

  /** Responses a request goes on from, without their contents; nothing for one already gone, or not the reader's. */
  async chain(previousId: string, reader: Reader): Promise<Chain> {
    const id = runIdOf(previousId);
    return id === null ? [] : findConversation(this.#pool, id, { ...reader, max: most.responses });
  }

  /**
   * The items of responses, oldest first, as a provider gets them: with the newest summary in place of what it
   * summarises. `rows`: of `chain`. Throws what `grow` throws, and `previous_response_not_found` if a response is gone, in
   * the same words for every reason.
   */
  async conversation(rows: Chain, { format, provider, grow, ...reader }: Reading): Promise<Buffer[]> {
    const refusal = refusalOf(rows);
    if (refusal !== null) throw refusal;
    grow(bytesOf(rows));
    let items: Conversed[] = [];
    for await (const [row, content] of readContents(this.#pool, reader.tenantId, rows.toReversed())) {
      if (content === null) throw previousNotFound();
      const sameProvider = row.provider === provider;
      for await (const { text, value } of this.#itemsOf(row.id, content, reader))
        if (value === undefined || format.goesOn(value, sameProvider)) {
          if (format.isSummary(value)) items = items.filter(({ outlasts }) => outlasts);
          const shown = this.#shown(text, format.summaryIn(value), { ...reader, format });
          items.push({ text: shown, outlasts: format.outlastsSummary(value) });
        }
    }
    return items.map(({ text }) => text);
  }

  /** An item as a provider gets it. */
  #shown(
    text: Buffer,
    sealed: string | null,
    { tenantId, format }: Pick<Reading, 'tenantId' | 'format'>,
  ): Buffer {
    const param = 'previous_response_id';
    return sealed === null ? text : format.summaryItem(this.summaries.open(sealed, { tenantId, param }));
  }

  /** Responses with items of these ids, each with the ids to be read of it, without their contents. */
  async holders(ids: readonly string[], reader: Reader): Promise<Holders> {
    const keys = new Map(ids.map((id) => [id, itemKey(id, reader.userId)]));
    const byKey = await findItems(this.#pool, [...new Set(keys.values())], reader);
    const inPlaces = ids.flatMap((id) => (byKey.has(keys.get(id) ?? 0n) ? [] : (readPlaceId(id) ?? [])));
    const runIds = [...new Set(inPlaces.map(({ runId }) => runId))];
    const known = [
      ...byKey.values(),
      ...(runIds.length === 0 ? [] : await findResponses(this.#pool, runIds, reader)),
    ];
    const byId = new Map(known.map((row) => [row.id, row]));
    const holders = new Map<HeldRow, Set<string>>();
    for (const [id, key] of keys) {
      const row = byId.get(byKey.get(key)?.id ?? readPlaceId(id)?.runId ?? '');
      if (row !== undefined) holders.set(row, (holders.get(row) ?? new Set()).add(id));
    }
    return holders;
  }

  /**
   * Items of `holders`, each from the newest response of the reader with it. Null stands for one not to go to the
   * provider; those in no response are missing. See `conversation` for the options.
   */
  async items(
    rows: Holders,
    { format, provider, grow, ...reader }: Reading,
  ): Promise<ReadonlyMap<string, NamedItem | null>> {
    const holders = [...rows.keys()];
    if (bytesOf(holders) > most.bytes) throw tooMuch();
    grow(bytesOf(holders));
    const found = new Map<string, NamedItem | null>();
    for await (const [row, content] of readContents(this.#pool, reader.tenantId, holders)) {
      if (content === null) continue;
      const wanted = rows.get(row);
      const sameProvider = row.provider === provider;
      for await (const { text, value, id } of this.#itemsOf(row.id, content, reader))
        if (id !== null && wanted?.has(id) === true)
          found.set(
            id,
            value === undefined || format.goesOn(value, sameProvider)
              ? { text, summary: format.summaryIn(value) }
              : null,
          );
    }
    return found;
  }

  /** Stores the answer of a request, with this as its own input. `previousId`: the response it goes on from. */
  storing({ input, itemIds, previousId, ...holder }: Holder & StoredRequest): StoreResponse {
    return async (response, { id, ageMs, provider }) => {
      const { tenantId, userId } = holder;
      const parts = [contentStart, ...input, contentMiddle, response, contentEnd];
      const bytes = parts.reduce((sum, { length }) => sum + length, 0);
      const previous = previousId === null ? null : runIdOf(previousId);
      const itemKeys = newestKeys([...itemIds, ...(await outputIds(response, tenantId))], userId);
      // The sealed value and what is sent of it to the database are two copies more.
      await LargeWork.during({ tenantId, bytes }, () => {
        const content = this.#keyRing.sealParts(parts, contextOfResponse(id, holder));
        return insertResponse(this.#pool, {
          ...{ ...holder, id, previousId: previous, provider, content, itemKeys, ageMs },
        });
      });
    };
  }

  /** Whether there is a response of the reader, whatever its size. */
  async has(responseId: string, reader: Reader): Promise<boolean> {
    const id = runIdOf(responseId);
    return id !== null && (await findResponses(this.#pool, [id], reader)).length > 0;
  }

  /**
   * Null for a response not there, or not the reader's. `reserve` waits until so many bytes may be read, and counts
   * them.
   */
  async find(
    responseId: string,
    reader: Reader,
    reserve: (bytes: number) => Promise<void>,
  ): Promise<StoredResponse | null> {
    const id = runIdOf(responseId);
    const rows = id === null ? [] : await findResponses(this.#pool, [id], reader);
    await reserve(bytesOf(rows));
    for await (const [row, content] of readContents(this.#pool, reader.tenantId, rows))
      if (content !== null) return this.#partsOf(this.#open(row.id, content, reader), reader.tenantId);
    return null;
  }

  /** Returns false if it doesn't exist. */
  async delete(responseId: string, holder: Holder): Promise<boolean> {
    const id = runIdOf(responseId);
    return id !== null && deleteResponse(this.#pool, id, holder);
  }

  #open(id: string, content: Buffer, holder: Holder): Buffer {
    return this.#keyRing.open(content, contextOfResponse(id, holder));
  }

  async #partsOf(plain: Buffer, tenantId: string): Promise<StoredResponse> {
    const members = await memberRanges(plain, wholeOf(plain), tenantId);
    const part = (name: string): Buffer => {
      const range = members?.get(name);
      if (range === undefined) throw new Error(`a stored response has no ${name}`);
      return plain.subarray(range.from, range.until);
    };
    return { input: part('input'), response: part('response') };
  }

  /** The items of a response's input and output, in their order. */
  async *#itemsOf(id: string, content: Buffer, { tenantId, ...holder }: Holder): AsyncGenerator<StoredItem> {
    const plain = this.#open(id, content, { tenantId, ...holder });
    const { input, response } = await this.#partsOf(plain, tenantId);
    for (const [place, text] of (await elementsIn(input, tenantId)).entries()) {
      const item = await readItem(text, tenantId);
      yield { ...item, id: item.id ?? placeId(responseId(id), place) };
    }
    for (const text of await outputOf(response, tenantId)) yield readItem(text, tenantId);
  }
}

/** Everything of a request stored with its answer. */
interface StoredRequest {
  /** The items of its own input: a JSON array in parts. */
  input: readonly Buffer[];
  /** Ids of its items, the oldest first. */
  itemIds: readonly string[];
  /** Response it goes on from. */
  previousId: string | null;
}

/** JSON texts of the items in a response's output. */
async function outputOf(response: Buffer, tenantId: string): Promise<Buffer[]> {
  const output = (await memberRanges(response, wholeOf(response), tenantId))?.get('output');
  return output === undefined ? [] : elementsIn(response.subarray(output.from, output.until), tenantId);
}

async function outputIds(response: Buffer, tenantId: string): Promise<string[]> {
  const ids: string[] = [];
  for (const text of await outputOf(response, tenantId)) {
    const { id } = await readItem(text, tenantId);
    if (id !== null) ids.push(id);
  }
  return ids;
}

async function readItem(text: Buffer, tenantId: string): Promise<StoredItem> {
  const range = wholeOf(text);
  const isRead = await isParsable(text, range, tenantId);
  const value = isRead ? await parsedPart(text, range, tenantId) : undefined;
  const { id } = isRead
    ? (Object(value) as Fields)
    : await smallMembers(text, await memberRanges(text, range, tenantId), { names: ['id'], tenantId });
  return { text, value, id: typeof id === 'string' ? id : null };
}

/** Bytes of contents read by `conversation` and `items`: 0 for refused ones. */
export function bytesRead({ chain, holders }: { chain: Chain; holders: Holders }): number {
  const itemBytes = bytesOf([...holders.keys()]);
  if (itemBytes > most.bytes) return 0;
  return itemBytes + (refusalOf(chain) === null ? bytesOf(chain) : 0);
}

/** The error for a conversation with a gap, or with more than a request may have; null for any other. */
function refusalOf(rows: Chain): AppError | null {
  const isWhole = rows.at(-1)?.previous_id === null;
  if (isWhole) return bytesOf(rows) > most.bytes ? tooLong() : null;
  return rows.length === most.responses ? tooLong() : previousNotFound();
}

/** The bytes of the contents of responses. */
function bytesOf(rows: readonly HeldRow[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The JSON texts of the elements of an array. */
export async function elementsIn(list: Buffer, tenantId: string): Promise<Buffer[]> {
  const ranges = await elementRanges(list, wholeOf(list), { tenantId, max: maxStoredItems });
  if (ranges === null) throw new Error('a stored response has no list of items');
  const texts = ranges.map(({ from, until }) => list.subarray(from, until));
  return texts.filter((text) => text.toString('latin1').trim() !== '');
}

/** Another tenant or user can't open it. */
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

function tooMuch(): AppError {
  return new AppError(
    'payload_too_large',
    `The responses with the items that the input names by their ids have more than ${most.bytes} bytes.`,
    { param: 'input' },
  );
}

/** The key by which an item of a tenant is found. Two items may share one. */
function itemKey(itemId: string, userId: string | null): bigint {
  return createHash('sha256')
    .update(JSON.stringify([userId, itemId]))
    .digest()
    .readBigInt64BE();
}

/** The keys of the newest items. `itemIds`: the oldest first. */
function newestKeys(itemIds: readonly string[], userId: string | null): bigint[] {
  const newest = [...new Set(itemIds.toReversed())].slice(0, maxItemKeys);
  return [...new Set(newest.map((id) => itemKey(id, userId)))];
}
