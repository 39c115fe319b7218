import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { isCall, maxCalls, SaidContent } from './said-content.ts';

/** All texts of a message, and as many for each of its pieces: put together and read within 50 ms. */
const maxChars = 2 * 1024 * 1024;
const charsEach = 8;
const maxBlocks = 4_096;

interface OpenBlock {
  fields: Fields;
  /** The input of a call of a tool, as it comes in pieces. */
  json: string[];
  citations: unknown[];
}

/** Puts the content of a streamed message together. */
export class ContentBuilder {
  readonly #blocks = new Map<number, OpenBlock>();
  #chars = 0;
  #calls = 0;

  /** A `content_block_start`. Throws at more than an answer may have. */
  start(index: number, block: unknown): void {
    const fields = isFields(block) ? block : {};
    this.#count(Object.values(fields));
    this.#blocks.set(index, { fields: { ...fields }, json: [], citations: [] });
    this.#calls += isCall(fields) ? 1 : 0;
    if (this.#calls > maxCalls) throw new Error('the answer has too many calls of tools');
    if (this.#blocks.size > maxBlocks) throw new Error('the answer has too many blocks');
  }

  /** A `content_block_delta`. Throws at more than an answer may have. */
  add(index: number, delta: unknown): void {
    const block = this.#blocks.get(index);
    if (block === undefined || !isFields(delta)) return;
    const { type: _type, partial_json: json, citation, ...texts } = delta;
    this.#count([json, citation, ...Object.values(texts)]);
    if (typeof json === 'string') block.json.push(json);
    if (citation !== undefined) block.citations.push(citation);
    for (const [name, text] of Object.entries(texts))
      if (typeof text === 'string' && name !== '__proto__')
        block.fields[name] = (typeof block.fields[name] === 'string' ? block.fields[name] : '') + text;
  }

  get built(): SaidContent {
    const blocks = [...this.#blocks].toSorted(([a], [b]) => a - b);
    return SaidContent.of(
      blocks.map(([, { fields, json, citations }]) => ({
        fields:
          citations.length === 0
            ? fields
            : { ...fields, citations: [...listOf(fields['citations']), ...citations] },
        json: json.join(''),
      })),
    );
  }

  #count(values: readonly unknown[]): void {
    for (const value of values)
      this.#chars +=
        charsEach + (typeof value === 'string' ? value.length : JSON.stringify(value ?? null).length);
    if (this.#chars > maxChars) throw new Error('the answer is too large to be put together');
  }
}
