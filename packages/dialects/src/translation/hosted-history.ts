import { isFields } from '@gatehouse/kit/fields';
import { maxHostedDepth, maxHostedValues } from '../bounds.ts';
import { typeByBytes } from '../file-types.ts';
import type { MediaPart, Part, TextPart, Turn } from './conversation.ts';
import type { DroppedFields } from './dropped-fields.ts';

/**
 * Calls of a provider's tools, and their results, in the history of a conversation. Another model gets their words as
 * text, so that a conversation may change its model.
 */

/** Items without a meaning for another model. */
const omitted: ReadonlySet<string> = new Set(['mcp_list_tools', 'ghost_snapshot', 'image_generation_call']);

/** Members without words for a model. */
const wordless =
  /^(?:type|id|role|status|index|caller|citations|annotations|logprobs|parameters|media_type|cache_control)$|_(?:ids?|at)$|^encrypted|signature$|schema$/i;

/** Members with words that need no name. */
const plain: ReadonlySet<string> = new Set(['text', 'content', 'output']);

/** Members with objects of several types that say what was done. */
const typed: ReadonlySet<string> = new Set(['action', 'actions', 'operation']);

/**
 * The words of an item as a text behind its type; empty without any. `name`: the client's name of it. `values`: how many
 * values may become text, of which those of the item are taken.
 */
export function hostedParts(
  item: unknown,
  { type, name, values }: { type: string; name: string; values?: { left: number } },
  dropped: DroppedFields,
): TextPart[] {
  dropped.ignore(name);
  if (omitted.has(type)) return [];
  const words = new Words(values);
  words.add(item, '');
  return words.lines.length === 0
    ? []
    : [{ kind: 'text', text: `[${type.slice(0, maxTypeChars)}] ${words.lines.join('\n')}` }];
}

const maxTypeChars = 64;

/**
 * The text in place of a part of the history that the target can't read. Throws a 400 for one of the newest turn of the
 * user, which decides the meaning of the answer.
 */
export function unplaced(
  at: string,
  { text, why }: { text: string; why: string | undefined },
  dropped: DroppedFields,
): TextPart[] {
  if (!dropped.isHistory) throw dropped.unsupportedParameter(at, why);
  return [leftOut(at, text, dropped)];
}

function leftOut(at: string, text: string, dropped: DroppedFields): TextPart {
  dropped.ignore(at.replaceAll(/\[\d+\]/g, ''));
  return { kind: 'text', text: `[${text}: not available to this model]` };
}

/** The same for an image, a sound or a file that a writer has no place for. */
export function unplacedMedia(
  { kind, name, at, isHistory = false }: MediaPart,
  dropped: DroppedFields,
  why?: string,
): TextPart {
  if (!isHistory) throw dropped.unsupportedParameter(at, why);
  return leftOut(at, name === null ? kind : `${kind} ${name}`, dropped);
}

/** Turns with their media marked as of the history, up to the newest turn of the model. */
export function withHistory(turns: readonly Turn[]): Turn[] {
  const newest = turns.findLastIndex(({ role }) => role === 'assistant');
  return turns.map((turn, index) =>
    index > newest ? turn : { ...turn, parts: turn.parts.map((part) => marked(part)) },
  );
}

function marked(part: Part): Part {
  if ('at' in part) return { ...part, isHistory: true };
  if (part.kind !== 'result' || part.parts.every(({ kind }) => kind === 'text')) return part;
  return { ...part, parts: part.parts.map((each) => ('at' in each ? { ...each, isHistory: true } : each)) };
}

/** The same for a file by the id of a provider. */
export function foreignFile(at: string, id: unknown, dropped: DroppedFields): TextPart[] {
  const text = typeof id === 'string' ? `file ${id.slice(0, maxTypeChars)}` : 'file';
  return unplaced(at, { text, why: 'Files of a provider are known to it alone.' }, dropped);
}

/** Collects the words of a value, up to a number of values in it. */
class Words {
  readonly lines: string[] = [];
  readonly #values: { left: number };

  constructor(values = { left: maxHostedValues }) {
    this.#values = values;
  }

  add(value: unknown, name: string, depth = 0): void {
    this.#values.left -= 1;
    if (this.#values.left < 0 || depth > maxHostedDepth) return;
    if (typeof value === 'string') this.#line(name, value);
    else if (typeof value === 'number' || typeof value === 'boolean') this.#line(name, String(value));
    else if (Array.isArray(value)) this.#list(value, name, depth);
    else if (isFields(value))
      for (const [key, member] of Object.entries(value))
        if (key === 'type' ? typed.has(name) : hasWords(key, value['type'])) this.add(member, key, depth + 1);
  }

  #list(values: readonly unknown[], name: string, depth: number): void {
    if (values.every((each) => typeof each === 'string')) this.#line(name, values.join(' '));
    else for (const each of values) this.add(each, name, depth + 1);
  }

  #line(name: string, text: string): void {
    if (text.trim() === '' || isData(text)) return;
    this.lines.push(plain.has(name) ? text : `${name}: ${text}`);
  }
}

/** A source of the type `text` has its words in `data`, others have base64. */
function hasWords(name: string, type: unknown): boolean {
  return name === 'data' ? type === 'text' : !wordless.test(name);
}

function isData(text: string): boolean {
  return /^data:[^,]*;base64,|^[\w+/-]{256}/i.test(text) || typeByBytes(text) !== null;
}
