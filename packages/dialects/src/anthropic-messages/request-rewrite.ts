import type { Fields } from '@gatehouse/kit/fields';
import { openBrace, quote } from '@gatehouse/kit/json-bytes';
import { applyChanges, removeFrom, type Changes, type Edit } from '../wire/json-edits.ts';
import { elementsOf, elementStart, named, objectMembers, type Member } from '../wire/json-members.ts';
import {
  addParameters,
  addSystem,
  addTools,
  parametersIn,
  replaceModel,
  unsupportedIn,
} from '../request-additions.ts';
import type { Rewrite } from '../dialect.ts';
import { factsOf, familyOf } from '../model-facts.ts';
import { isKept } from '../marked-signatures.ts';
import { blockBinding } from './thinking.ts';
import type { Pieces } from '../wire/pieces.ts';

/**
 * Applies the rewrite to the source text of a request, a valid JSON object. Its members may be given where they are
 * known. `thinks`: whether the client lets the model think, beside which an agent's sampling is refused. `signatures`:
 * messages with signatures, by their places.
 */
export function rewriteRequest(
  body: Buffer,
  rewrite: Rewrite & { thinks: boolean; signatures?: ReadonlyMap<number, SignedMessage> },
  members: readonly Member[] = objectMembers(body),
): Pieces {
  const changes: Changes = { edits: [], added: [] };
  const { edits } = changes;
  replaceModel(body, members, rewrite.model, edits);
  removeForeign(body, members, rewrite, edits);
  const { systemPrompt: prompt } = rewrite;
  if (prompt !== null)
    addSystem({ body, members, name: 'system' }, { prompt, element: textBlock(prompt) }, changes);
  if (rewrite.reference !== null) addReference(body, members, rewrite.reference, edits);
  const choiceText = (type: 'auto' | 'none', toolChoice: Member | null): string => {
    const serial = type === 'auto' && toolChoice !== null && isSerial(body, toolChoice.valueStart);
    return JSON.stringify({ type, ...(serial && { disable_parallel_tool_use: true }) });
  };
  if (rewrite.tools !== null) addTools({ body, members, choiceText }, rewrite.tools, changes);
  if (rewrite.bindsThinking === true && rewrite.isTranslated !== true && (rewrite.signatures?.size ?? 0) > 0)
    addBinding(body, members, changes);
  addDefaults(body, members, rewrite, changes);
  return applyChanges(body, members, changes);
}

/** A message with signed reasoning. */
export interface SignedMessage {
  /** By the places of their blocks; empty for a thought without one. */
  signatures: ReadonlyMap<number, string>;
  /** The number of all its blocks. */
  blocks: number;
  /** Whether it calls tools in the newest turn: the thoughts of this turn must be there while the model thinks. */
  isInLoop: boolean;
}

/**
 * Takes out the thoughts of another vendor, those without a signature, and messages of nothing else. The model answers
 * without thinking if the newest turn then lacks what it needs.
 */
function removeForeign(
  body: Buffer,
  members: readonly Member[],
  rewrite: Rewrite & { signatures?: ReadonlyMap<number, SignedMessage> },
  edits: Edit[],
): void {
  const [messages] = named(members, 'messages').slice(-1);
  if (rewrite.signatures === undefined || messages === undefined) return;
  const foreign = new Map<number, ReadonlySet<number>>();
  for (const [index, { signatures }] of rewrite.signatures) {
    const places = [...signatures].flatMap(([place, signature]) =>
      (signature === '' ? keepsUnsigned(rewrite) : isKept(signature, rewrite)) ? [] : [place],
    );
    if (places.length > 0) foreign.set(index, new Set(places));
  }
  if (foreign.size === 0) return;
  const isEmptied = (index: number): boolean =>
    foreign.get(index)?.size === rewrite.signatures?.get(index)?.blocks;
  const emptied = new Set([...foreign.keys()].filter(isEmptied));
  let index = -1;
  for (const at of elementsOf(body, messages.valueStart)) {
    index += 1;
    const places = foreign.get(index);
    if (places === undefined || emptied.has(index)) continue;
    const [content] = named(objectMembers(body, { from: at }), 'content').slice(-1);
    if (content !== undefined) removeFrom(body, content, places, edits);
  }
  if (emptied.size > 0) removeFrom(body, messages, emptied, edits);
  if (![...foreign.keys()].some((place) => rewrite.signatures?.get(place)?.isInLoop)) return;
  const { needsOpenThoughts } = factsOf({ name: rewrite.model, rulesName: rewrite.rulesName });
  for (const { valueStart: at, valueEnd: until } of named(members, 'thinking')) {
    const { type } = Object(JSON.parse(body.toString('utf8', at, until))) as Fields;
    // Adaptive thinking takes a turn that begins without a thought.
    if (!needsOpenThoughts && type !== 'enabled') continue;
    edits.push({ at, until, text: '{"type":"disabled"}' });
    rewrite.onDropped?.('thinking');
  }
}

/**
 * Whether thoughts without a signature go on. Claude refuses an empty one; other models with this API may have thoughts
 * without, and want them back.
 */
function keepsUnsigned({ model: name, rulesName, isTranslated }: Rewrite): boolean {
  return isTranslated === true || familyOf({ name, rulesName }) !== 'claude';
}

/** Lets the provider leave out thoughts behind a changed beginning of the conversation, unless the client says more. */
function addBinding(body: Buffer, members: readonly Member[], { edits, added }: Changes): void {
  const thinking = named(members, 'thinking');
  if (thinking.length === 0)
    added.push(`"thinking":${JSON.stringify({ type: 'adaptive', ...blockBinding })}`);
  for (const { valueStart, valueEnd } of thinking) {
    const fields = Object(JSON.parse(body.toString('utf8', valueStart, valueEnd))) as Fields;
    if (fields['type'] !== 'adaptive' || 'block_binding' in fields) continue;
    const at = valueEnd - 1;
    edits.push({ at, until: at, text: `,${JSON.stringify(blockBinding).slice(1, -1)}` });
  }
}

/**
 * Puts a block before the first text of a message of the user: results of tools must come first in it. The index is of
 * the list as `JSON.parse` takes it: the last one.
 */
function addReference(
  body: Buffer,
  members: readonly Member[],
  { index, content }: { index: number; content: string },
  edits: Edit[],
): void {
  const [messages] = named(members, 'messages').slice(-1);
  const message = elementStart(body, messages?.valueStart ?? 0, index);
  const [contentMember] = named(objectMembers(body, { from: message }), 'content').slice(-1);
  if (contentMember === undefined) return;
  const { valueStart, valueEnd } = contentMember;
  const block = textBlock(content);
  if (body[valueStart] === quote) {
    edits.push({ at: valueStart, until: valueStart, text: `[${block},{"type":"text","text":` });
    edits.push({ at: valueEnd, until: valueEnd, text: '}]' });
    return;
  }
  for (const at of elementsOf(body, valueStart)) {
    if (!isText(body, at)) continue;
    edits.push({ at, until: at, text: `${block},` });
    return;
  }
}

/** Each letter may be escaped. */
const maxTypeBytes = 64;

/** Whether the object at a place is a text block. */
function isText(body: Buffer, at: number): boolean {
  if (body[at] !== openBrace) return false;
  const [type] = named(objectMembers(body, { from: at }), 'type').slice(-1);
  if (type === undefined || type.valueEnd - type.valueStart > maxTypeBytes) return false;
  return JSON.parse(body.toString('utf8', type.valueStart, type.valueEnd)) === 'text';
}

function textBlock(text: string): string {
  return JSON.stringify({ type: 'text', text });
}

/** Whether the client's choice of tools allows one call at a time. */
function isSerial(body: Buffer, at: number): boolean {
  if (body[at] !== openBrace) return false;
  const [disabled] = named(objectMembers(body, { from: at }), 'disable_parallel_tool_use').slice(-1);
  return disabled !== undefined && body.toString('latin1', disabled.valueStart, disabled.valueEnd) === 'true';
}

/** Anthropic's maximum; OpenAI takes 2. */
const maxTemperature = 1;

const parameterNames = {
  ...{ max_tokens: 'max_tokens', stop: 'stop_sequences', temperature: 'temperature', top_p: 'top_p' },
};

/** The parameters of an agent, without `top_p` beside `temperature`, which newer models refuse. */
export function asAnthropic(defaults: Fields): Fields {
  const { top_p, ...fields } = parametersIn(parameterNames, defaults);
  const { temperature } = fields;
  if (typeof temperature === 'number')
    return { ...fields, temperature: Math.min(maxTemperature, temperature) };
  return { ...fields, ...(top_p !== undefined && { top_p }) };
}

export function unsupportedInAnthropic(defaults: Fields): string[] {
  const { top_p, ...others } = defaults;
  const isTwice = top_p !== undefined && typeof defaults['temperature'] === 'number';
  return [...unsupportedIn(parameterNames, others), ...(isTwice ? ['top_p'] : [])];
}

/** Adds the agent's parameters, except for those in the client's request, and lowers the limit of the answer. */
function addDefaults(
  body: Buffer,
  members: readonly Member[],
  { defaults, maxTokens, thinks }: Rewrite & { thinks: boolean },
  changes: Changes,
): void {
  const fields = asAnthropic(defaults);
  const { temperature: _temperature, top_p: _topP, ...others } = fields;
  const samples = members.some(({ name }) => name === 'temperature' || name === 'top_p');
  // An agent's sampling is refused beside thinking, and beside another one.
  const parameters = samples || thinks ? others : fields;
  addParameters({ body, members, parameters, limitName: 'max_tokens' }, maxTokens, changes);
}
