import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { quote } from '@gatehouse/kit/json-bytes';
import {
  appendTo,
  applyChanges,
  removeFrom,
  removeMembers,
  type Changes,
  type Edit,
} from '../wire/json-edits.ts';
import { elementsOf, elementStart, named, objectMembers, type Member } from '../wire/json-members.ts';
import { addParameters, addSystem, addTools, parametersIn, replaceModel } from '../request-additions.ts';
import type { Rewrite } from '../dialect.ts';
import { isKept, signatureFilter, signatureTextIn } from '../marked-signatures.ts';
import { billedAs } from '../usage/fee-tools.ts';
import type { Pieces } from '../wire/pieces.ts';
import { fillInput } from './filled-input.ts';
import type { OfferedPlaces } from './hosted-calls.ts';

/** The element of `include` for thoughts as a text readable by the provider only. */
export const encryptedReasoning = 'reasoning.encrypted_content';

/** The part of a client's request about keeping the answer: how much of it, and where. */
interface AskedState {
  /** Whether the provider would keep the response. */
  stores: boolean;
  /** Whether the path asks for a summary. Its request has few fields. */
  isCompaction: boolean;
  /** Whether the client gets its thoughts encrypted. */
  wantsEncrypted: boolean;
  /** Whether the client says how the model is to reason. */
  asksToReason: boolean;
  /** Places of items of the input readable only by a provider with stored responses; never all of them. */
  lost: ReadonlySet<number>;
  /** The signatures of items, by their places. */
  signatures: ReadonlyMap<number, string>;
  /** Places of items in place of a part of the conversation. */
  compactions: ReadonlySet<number>;
  /** Offered tools: those of the request by null, others by the place of their item. */
  offered: ReadonlyMap<number | null, OfferedPlaces>;
}

/** Whether a list has as many elements as are left out. */
function holdsOnly(body: Buffer, { valueStart }: Member, gone: ReadonlySet<number>): boolean {
  return gone.size === [...elementsOf(body, valueStart)].length;
}

function foreignCompaction(place: number): AppError {
  const param = `input[${place}]`;
  return new AppError(
    'unsupported_parameter',
    `${param}: only the provider that compacted it can read this item.`,
    {
      param,
    },
  );
}

/**
 * Applies the rewrite to the source text of a request, a valid JSON object. Its members may be given where they are
 * known. Throws a 400 where another provider's compaction is all of the conversation.
 */
export function rewriteRequest(
  body: Buffer,
  rewrite: Rewrite & AskedState,
  members: readonly Member[] = objectMembers(body),
): Pieces {
  const changes: Changes = { edits: [], added: [] };
  const { edits } = changes;
  replaceModel(body, members, rewrite.model, edits);
  // Nothing of a count or a summary is kept, and providers refuse these fields there.
  const isBare = rewrite.counts === true || (rewrite.isCompaction && rewrite.isTranslated !== true);
  if (!isBare) keepNothing(body, members, rewrite, changes);
  const { systemPrompt: prompt, defaults, maxTokens } = rewrite;
  if (prompt !== null)
    addSystem(
      { body, members, name: 'instructions' },
      { prompt, element: messageOf('developer', prompt) },
      changes,
    );
  const [input] = named(members, 'input').slice(-1);
  const keeps = signatureFilter([...rewrite.signatures.values()], rewrite);
  const foreign = [...rewrite.signatures].flatMap(([place, signature]) => (keeps(signature) ? [] : [place]));
  const gone = new Set([...rewrite.lost, ...foreign]);
  const [compacted] = foreign.filter((place) => rewrite.compactions.has(place));
  if (compacted !== undefined && input !== undefined && holdsOnly(body, input, gone))
    throw foreignCompaction(compacted);
  if (input !== undefined && gone.size > 0) removeFrom(body, input, gone, edits);
  if (compacted !== undefined) rewrite.onDropped?.('input.compaction');
  const { reasoningFill: fill } = rewrite;
  if (input !== undefined && fill !== undefined) edits.push(...fillInput(body, input, { fill, gone }));
  addToInput(body, members, rewrite, edits);
  const left = leaveOut(body, members, rewrite, edits);
  if (rewrite.tools !== null)
    addTools(
      { body, members: left, choiceText: (choice) => JSON.stringify(choice) },
      { ...rewrite.tools, messages: [] },
      changes,
    );
  const parameters = parametersIn(parameterNames, defaults);
  if (!isBare)
    addParameters({ body, members, parameters, limitName: parameterNames.max_tokens }, maxTokens, changes);
  return applyChanges(body, members, changes);
}

/** Takes out offered tools beyond a budget. Returns the members without emptied lists. */
function leaveOut(
  body: Buffer,
  members: readonly Member[],
  { withoutTools, offered }: Pick<Rewrite & AskedState, 'withoutTools' | 'offered'>,
  edits: Edit[],
): readonly Member[] {
  if (withoutTools === undefined || withoutTools.size === 0) return members;
  const [input] = named(members, 'input').slice(-1);
  let left = members;
  for (const [item, tools] of offered) {
    const gone = new Set([...tools].flatMap(([place, type]) => (isOneOf(type, withoutTools) ? [place] : [])));
    const owner =
      item === null || input === undefined
        ? members
        : objectMembers(body, { from: elementStart(body, input.valueStart, item) });
    const [list] = named(owner, 'tools').slice(-1);
    if (list === undefined || gone.size === 0) continue;
    if (item === null && gone.size === [...elementsOf(body, list.valueStart)].length) {
      removeMembers(members, new Set(['tools']), edits);
      left = members.filter(({ name }) => name !== 'tools');
    } else removeFrom(body, list, gone, edits);
  }
  return left;
}

function isOneOf(type: string, tools: Rewrite['withoutTools']): boolean {
  const billed = billedAs(type);
  return billed !== null && tools?.has(billed) === true;
}

/**
 * Lets the provider store nothing. Thoughts then go back to it encrypted, or not at all, so they are asked for where the
 * client wants its conversation kept, or the gateway goes on with the model.
 */
function keepNothing(
  body: Buffer,
  members: readonly Member[],
  rewrite: Rewrite & AskedState,
  { edits, added }: Changes,
): void {
  const stores = named(members, 'store');
  for (const { valueStart: at, valueEnd: until } of stores)
    if (body.toString('latin1', at, until) !== 'false') edits.push({ at, until, text: 'false' });
  if (stores.length === 0) added.push('"store":false');
  const isWanted = (rewrite.stores || rewrite.tools !== null) && reasons(rewrite);
  if (!isWanted || rewrite.wantsEncrypted) return;
  const element = JSON.stringify(encryptedReasoning);
  const includes = named(members, 'include');
  for (const member of includes) appendTo(body, member, element, edits);
  if (includes.length === 0) added.push(`"include":[${element}]`);
}

/** OpenAI refuses to encrypt the thoughts of a model without thoughts. */
function reasons({ reasons, asksToReason }: Rewrite & AskedState): boolean {
  return reasons ?? asksToReason;
}

function messageOf(role: string, content: string): string {
  return JSON.stringify({ type: 'message', role, content });
}

/**
 * Puts the reference before an item, and the words of models and tools behind all. The index is of the list as
 * `JSON.parse` takes it: the last one. A text as the input becomes a message.
 */
function addToInput(body: Buffer, members: readonly Member[], rewrite: Rewrite, edits: Edit[]): void {
  const { reference, tools } = rewrite;
  const items = (tools?.messages ?? []).map((text) => keptItems(text, rewrite)).filter((text) => text !== '');
  const [input] = named(members, 'input').slice(-1);
  if (input === undefined || (reference === null && items.length === 0)) return;
  const { valueStart, valueEnd } = input;
  const before = reference === null ? '' : `${messageOf('user', reference.content)},`;
  if (body[valueStart] === quote) {
    const start = `[${before}{"type":"message","role":"user","content":`;
    edits.push({ at: valueStart, until: valueStart, text: start });
    edits.push({ at: valueEnd, until: valueEnd, text: `${['}', ...items].join(',')}]` });
    return;
  }
  if (reference !== null) {
    const at = elementStart(body, valueStart, reference.index);
    edits.push({ at, until: at, text: before });
  }
  if (items.length > 0) appendTo(body, input, items.join(','), edits);
}

/** Items of the run itself, which another key of the provider may have made. `text`: some, joined with commas. */
function keptItems(text: string, rewrite: Rewrite): string {
  if (rewrite.keepsSignature === undefined || !text.includes('"encrypted_content"')) return text;
  const items = JSON.parse(`[${text}]`) as Fields[];
  const passed = items.filter(({ encrypted_content: encrypted }) => {
    const signature = signatureTextIn(encrypted);
    return signature === null || isKept(signature, rewrite);
  });
  return passed.length === items.length ? text : passed.map((item) => JSON.stringify(item)).join(',');
}

/** The API's names of an agent's parameters. */
export const parameterNames = {
  ...{ max_tokens: 'max_output_tokens', temperature: 'temperature', top_p: 'top_p' },
};
