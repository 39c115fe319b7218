import { setImmediate } from 'node:timers/promises';
import type { ConversationMembers } from '@gatehouse/dialects/upstream-api';
import {
  elementRanges,
  isParsable,
  memberRanges,
  parsedPart,
  wholeOf,
  type Range,
} from '@gatehouse/dialects/wire/json-parts';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { smallBytes } from '@gatehouse/kit/json-bytes';
import { contentPartBytes, maxStoredItems, messagesBytes } from '../bounds.ts';
import { StorableValue, withCutTexts } from './storable-value.ts';

/** The content of a request: JSON of each part. */
export interface RequestContent {
  /** Its members without the conversation. */
  parameters: string;
  instructions: string;
  messages: string;
  /** Whether something is left out or cut. */
  isCut: boolean;
}

/** Bytes parsed in one turn of the event loop. */
const parsedInTurn = 256 * 1024;
/** Each value counts as so many bytes more: a thousand small ones take 5 ms. */
const valueOverhead = 256;

/** The content of a client's request; null for one that is no object. */
export async function requestContent(
  body: Buffer,
  conversation: ConversationMembers,
  tenantId: string,
): Promise<RequestContent | null> {
  const members = await memberRanges(body, wholeOf(body), tenantId);
  if (members === null) return null;
  const json = new JsonContent(body, tenantId);
  const firstOf = (names: readonly string[]) => names.find((name) => members.has(name));
  const [list, instructions] = [firstOf(conversation.messages), firstOf(conversation.instructions)];
  const others = [...members].filter(([name]) => name !== list && name !== instructions);
  const parts = {
    parameters: await json.object(others),
    instructions: await json.value(members.get(instructions ?? '')),
    messages: await json.list(members.get(list ?? '')),
  };
  return { ...parts, isCut: json.isCut };
}

/** A part of a content, as JSON. */
export interface ContentPart {
  text: string;
  /** Whether something of it is left out or cut. */
  isCut: boolean;
}

/** An object of members in JSON. */
export function objectOf(members: Record<string, string>): string {
  return `{${Object.entries(members)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
}

/** A JSON document as one part of a content: null if it has too many bytes, or is no JSON. */
export async function documentContent(
  document: Buffer,
  tenantId: string,
  maxBytes = contentPartBytes,
): Promise<ContentPart> {
  const json = new JsonContent(document, tenantId);
  return { text: await json.value(wholeOf(document), maxBytes), isCut: json.isCut };
}

/** A value as one part of a content, written in a turn of the tenant; null if it has too many bytes. */
export async function valueContent(
  value: unknown,
  tenantId: string,
  maxBytes = contentPartBytes,
): Promise<ContentPart> {
  const { text, isCut } = await runCooperatively(tenantId, () => storedText(value, { maxBytes }));
  return { text: text ?? 'null', isCut };
}

interface TextOptions {
  maxBytes: number;
  /** The member with the value: its name may mark a secret. */
  name?: string;
  /** Whether long texts are cut in a value with too many bytes. Default: true. */
  cuts?: boolean;
}

/** Reads parts of a JSON document as they are stored. */
class JsonContent {
  isCut = false;
  readonly #bytes: Buffer;
  readonly #tenantId: string;
  #parsedInTurn = 0;

  constructor(bytes: Buffer, tenantId: string) {
    this.#bytes = bytes;
    this.#tenantId = tenantId;
  }

  /** A value, null for a missing one or one with more bytes. */
  async value(range: Range | undefined, maxBytes = contentPartBytes): Promise<string> {
    return range === undefined ? 'null' : ((await this.#text(range, { maxBytes })) ?? 'null');
  }

  /** An object of these members, as far as there is room. */
  async object(members: readonly (readonly [string, Range])[]): Promise<string> {
    const parts: string[] = [];
    let left = contentPartBytes;
    for (const [name, range] of members) {
      const head = `${JSON.stringify(name)}:`;
      const maxBytes = left - Buffer.byteLength(head) - 1;
      const text = maxBytes > 0 ? await this.#text(range, { maxBytes, name }) : null;
      if (text === null) {
        this.isCut = true;
        continue;
      }
      left = maxBytes - Buffer.byteLength(text);
      parts.push(head + text);
    }
    return `{${parts.join(',')}}`;
  }

  /** A list without its oldest elements where it is too large. Another value is a list of one. */
  async list(range: Range | undefined): Promise<string> {
    if (range === undefined) return '[]';
    const options = { tenantId: this.#tenantId, max: maxStoredItems };
    const elements = await elementRanges(this.#bytes, range, options);
    if (elements === null) return `[${await this.value(range, messagesBytes)}]`;
    const texts: string[] = [];
    let left = messagesBytes;
    for (const element of elements.toReversed()) {
      // The newest is cut rather than left out.
      const text = await this.#text(element, { maxBytes: left - 1, cuts: texts.length === 0 });
      if (text === null) {
        this.isCut = true;
        break;
      }
      left -= Buffer.byteLength(text) + 1;
      texts.push(text);
    }
    return `[${texts.toReversed().join(',')}]`;
  }

  /** The JSON of a value; null if it has too many bytes. A value too slow to parse counts as null. */
  async #text(range: Range, options: TextOptions): Promise<string | null> {
    const bytes = range.until - range.from;
    await this.#takeTurn(bytes + valueOverhead);
    if (!(await isParsable(this.#bytes, range, this.#tenantId))) {
      this.isCut = true;
      return 'null';
    }
    const value = (await parsedPart(this.#bytes, range, this.#tenantId)) ?? null;
    const write = (): StoredText => storedText(value, options);
    // A large value takes as long to write as to parse, so it is written in a turn of its own.
    const { text, isCut } = bytes <= smallBytes ? write() : await runCooperatively(this.#tenantId, write);
    this.isCut ||= isCut;
    return text;
  }

  async #takeTurn(bytes: number): Promise<void> {
    this.#parsedInTurn += bytes;
    if (this.#parsedInTurn <= parsedInTurn) return;
    this.#parsedInTurn = bytes;
    await setImmediate();
  }
}

interface StoredText {
  /** Null if it has too many bytes. */
  text: string | null;
  isCut: boolean;
}

/** A value as JSON, as it is stored. */
function storedText(value: unknown, { maxBytes, name = '', cuts = true }: TextOptions): StoredText {
  const storable = new StorableValue();
  const { [name]: converted } = storable.convert({ [name]: value }) as Record<string, unknown>;
  const text = JSON.stringify(converted);
  if (Buffer.byteLength(text) <= maxBytes) return { text, isCut: storable.isCut };
  const cut = cuts ? JSON.stringify(withCutTexts(converted)) : null;
  return { text: cut !== null && Buffer.byteLength(cut) <= maxBytes ? cut : null, isCut: true };
}
