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

/** A JSON document as one part of a content. */
export async function documentContent(document: Buffer, tenantId: string): Promise<ContentPart> {
  const json = new JsonContent(document, tenantId);
  return { text: await json.value(wholeOf(document)), isCut: json.isCut };
}

/** A value as one part of a content. */
export function valueContent(value: unknown): ContentPart {
  const storable = new StorableValue();
  const { text, isCut } = fitting(storable.convert(value), contentPartBytes);
  return { text: text ?? 'null', isCut: isCut || storable.isCut };
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
    return range === undefined ? 'null' : (this.#fitting(await this.#storable(range), maxBytes) ?? 'null');
  }

  /** An object of these members. */
  async object(members: readonly (readonly [string, Range])[]): Promise<string> {
    const parts: string[] = [];
    let left = contentPartBytes;
    for (const [name, range] of members) {
      const text = this.#fitting(await this.#storable(range, name), left);
      if (text === null) continue;
      left -= Buffer.byteLength(text);
      parts.push(`${JSON.stringify(name)}:${text}`);
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
      const value = await this.#storable(element);
      // The newest is cut rather than left out.
      const isKept = texts.length === 0 || Buffer.byteLength(JSON.stringify(value)) < left;
      const text = isKept ? this.#fitting(value, left) : null;
      if (text === null) {
        this.isCut = true;
        break;
      }
      left -= Buffer.byteLength(text) + 1;
      texts.push(text);
    }
    return `[${texts.toReversed().join(',')}]`;
  }

  #fitting(value: unknown, maxBytes: number): string | null {
    const { text, isCut } = fitting(value, maxBytes);
    this.isCut ||= isCut;
    return text;
  }

  /** Null for a value that takes too long to parse. */
  async #storable(range: Range, name = ''): Promise<unknown> {
    const bytes = range.until - range.from;
    this.#parsedInTurn += bytes;
    if (this.#parsedInTurn > parsedInTurn) {
      this.#parsedInTurn = bytes;
      await setImmediate();
    }
    if (!(await isParsable(this.#bytes, range, this.#tenantId))) {
      this.isCut = true;
      return null;
    }
    const value = (await parsedPart(this.#bytes, range, this.#tenantId)) ?? null;
    const storable = new StorableValue();
    // The name of a member may say that its value is a secret.
    const { [name]: stored } = storable.convert({ [name]: value }) as Record<string, unknown>;
    this.isCut ||= storable.isCut;
    return stored;
  }
}

/** A value as JSON, with its long texts cut if it has too many bytes otherwise; null if it has too many all the same. */
function fitting(value: unknown, maxBytes: number): { text: string | null; isCut: boolean } {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) <= maxBytes) return { text, isCut: false };
  const cut = JSON.stringify(withCutTexts(value));
  return { text: Buffer.byteLength(cut) <= maxBytes ? cut : null, isCut: true };
}
