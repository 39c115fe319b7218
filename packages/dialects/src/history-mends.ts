import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { openBrace, openBracket, quote, smallBytes } from '@gatehouse/kit/json-bytes';
import { scanPieces } from '@gatehouse/kit/json-scan';
import { maxMendedElements } from './bounds.ts';
import { standIn } from './marked-signatures.ts';
import { alternatingEdits } from './alternating-history.ts';
import { pairedEdits } from './paired-history.ts';
import type { HistoryPlace } from './upstream-api.ts';
import { fittingId, type IdRule } from './translation/call-ids.ts';
import { applyEdits, removeMembers, type Edit } from './wire/json-edits.ts';
import { elementsOf, named, objectMembers, type Member } from './wire/json-members.ts';
import type { Pieces } from './wire/pieces.ts';
import { walkedElements, type WalkedElement } from './wire/walked-elements.ts';

/**
 * Changes of a history that some servers of an API refuse and others take, so they are made after a refusal:
 * - `calls.ids`: ids of calls too long for the API, or with other characters
 *   (https://github.com/openai/codex/issues/14355);
 * - `calls.ids.nine`: ids of nine letters or digits, as Mistral's models want
 *   (https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py);
 * - `calls.results`: a result for each call, and a call for each result (`pairedEdits`);
 * - `calls.signatures`: Google's placeholder beside the first call of each message, where its own is missing
 *   (https://ai.google.dev/gemini-api/docs/thought-signatures#faqs);
 * - `items.ids`: no ids of items, which OpenAI checks by type (https://github.com/openai/codex/issues/40039), and each
 *   id of its reasoning once (https://github.com/NousResearch/hermes-agent/pull/7946);
 * - `texts.halves`: no half of a character, where the whole request was refused as JSON;
 * - `roles.developer`: `system` in place of `developer` (https://github.com/earendil-works/pi/issues/1048);
 * - `roles.system`: `user` in place of `system` and `developer` (https://github.com/vllm-project/vllm/pull/2964);
 * - `roles.alternate`: messages of the user in a row as one, and texts of the assistant, behind one of the user
 *   (`alternatingEdits`);
 * - `roles.after.tool`: a message of the assistant between a result and the user's next message, for Mistral's models
 *   (https://github.com/NousResearch/hermes-agent/issues/20154).
 */
export const historyMends = [
  'calls.ids',
  'calls.ids.nine',
  'calls.results',
  'calls.signatures',
  'items.ids',
  'texts.halves',
  'roles.developer',
  'roles.system',
  'roles.alternate',
  'roles.after.tool',
] as const;
export type HistoryMend = (typeof historyMends)[number];

const nineIds: IdRule = { fits: (id) => /^[a-zA-Z0-9]{9}$/.test(id), prefix: '', digits: 9 };

/** With Google's placeholder for a signature. */
const unsigned = `,"extra_content":{"google":{"thought_signature":"${standIn}"}}`;
const between = '{"role":"assistant","content":"The results have arrived."},';

/** Items with an id that says nothing about the conversation. */
const plainItems: ReadonlySet<unknown> = new Set([
  ...['message', 'reasoning', 'function_call', 'function_call_output'],
  ...['custom_tool_call', 'custom_tool_call_output'],
]);

const idNames: ReadonlySet<string> = new Set(['tool_call_id', 'call_id', 'tool_use_id']);

/** A request's body with changes of its history; the same body where there is nothing to change, or too much to read. */
export function* withHistoryMends(
  body: Pieces,
  { history: place, mends }: { history: HistoryPlace | undefined; mends: ReadonlySet<string> },
): Steps<Pieces> {
  if (place === undefined || !historyMends.some((mend) => mends.has(mend))) return body;
  let changed = body;
  let walked: WalkedHistory | null = null;
  for (const editsOf of passesOf(place, mends)) {
    walked ??= yield* walkedHistory(changed.whole, place.list);
    if (walked === null) return changed;
    const edits = yield* editsOf(walked);
    yield;
    if (edits.length === 0 || edits.length > maxMendedElements) continue;
    changed = applyEdits(walked.text, edits);
    walked = null;
  }
  return changed;
}

/** A body, and the messages or items of its list. */
interface WalkedHistory {
  text: Buffer;
  elements: readonly WalkedElement[];
}

/** Null without a list, or for too long a one. The ends of its texts are noted for the walks over it. */
function* walkedHistory(text: Buffer, list: string): Steps<WalkedHistory | null> {
  yield* scanPieces(text);
  const elements = yield* walkedElements(text, list);
  return elements && { text, elements };
}

/** The changes, each of what those before it left. */
function passesOf(
  { ids, pairs, textType }: HistoryPlace,
  mends: ReadonlySet<string>,
): ((history: WalkedHistory) => Steps<Edit[]>)[] {
  return [
    ...(mends.has('calls.results')
      ? [
          ({ text, elements }: WalkedHistory) => {
            // Its calls and results are unknown.
            const isUnknown = elements.some(({ isLong }) => isLong);
            return pairedEdits(text, isUnknown ? [] : elements.map(({ at }) => at), pairs);
          },
        ]
      : []),
    ({ text, elements }) => new MendedHistory(text, mends, ids).editsOf(elements),
    ...(mends.has('roles.alternate')
      ? [({ text, elements }: WalkedHistory) => alternatingEdits(text, elements, textType)]
      : []),
  ];
}

/** Collects the changes of one list of messages or items. */
class MendedHistory {
  readonly #edits: Edit[] = [];
  readonly #text: Buffer;
  readonly #mends: ReadonlySet<string>;
  /** The rule of ids to be changed; null where none is. */
  readonly #ids: IdRule | null;
  readonly #reasoningIds = new Set<string>();
  #roleBefore: unknown = null;

  constructor(text: Buffer, mends: ReadonlySet<string>, ids: IdRule) {
    this.#text = text;
    this.#mends = mends;
    this.#ids = mends.has('calls.ids.nine') ? nineIds : mends.has('calls.ids') ? ids : null;
  }

  *editsOf(elements: readonly WalkedElement[]): Steps<Edit[]> {
    for (const { at, isLong } of elements) {
      yield;
      if (isLong || this.#text[at] !== openBrace) this.#roleBefore = null;
      else if (this.#edits.length <= maxMendedElements) yield* this.#element(at);
    }
    return this.#edits;
  }

  *#element(at: number): Steps<void> {
    const members = objectMembers(this.#text, { from: at });
    const role = this.#textOf(members, 'role');
    if (this.#mends.has('roles.after.tool') && this.#roleBefore === 'tool' && isNext(role))
      this.#edits.push({ at, until: at, text: between });
    this.#roleBefore = role;
    if (this.#mends.has('roles.system') && (role === 'system' || role === 'developer'))
      this.#replace(members, 'role', 'user');
    else if (this.#mends.has('roles.developer') && role === 'developer')
      this.#replace(members, 'role', 'system');
    const type = this.#textOf(members, 'type') ?? (role === null ? null : 'message');
    if (this.#mends.has('items.ids') && plainItems.has(type) && !this.#isOwnReasoning(members, type))
      removeMembers(members, new Set(['id']), this.#edits);
    if (this.#mends.has('calls.signatures')) this.#sign(members);
    if (this.#ids !== null) yield* this.#callIds(members, this.#ids);
  }

  /** OpenAI's reasoning is checked by its id, and refused without it at Azure, and with the id of an earlier item. */
  #isOwnReasoning(members: readonly Member[], type: unknown): boolean {
    const id = this.#textOf(members, 'id') ?? '';
    if (type !== 'reasoning' || !/^rs_[\w-]{1,61}$/.test(id) || this.#reasoningIds.has(id)) return false;
    this.#reasoningIds.add(id);
    return true;
  }

  /** Ids in a message or an item, and in its calls or blocks. */
  *#callIds(members: readonly Member[], rule: IdRule): Steps<void> {
    for (const { name } of members) if (idNames.has(name)) this.#fit(members, name, rule);
    for (const { name, valueStart } of members) {
      if ((name !== 'tool_calls' && name !== 'content') || this.#text[valueStart] !== openBracket) continue;
      for (const at of elementsOf(this.#text, valueStart)) {
        if (this.#text[at] !== openBrace) continue;
        const inner = objectMembers(this.#text, { from: at });
        const isCall = name === 'tool_calls' || this.#textOf(inner, 'type') === 'tool_use';
        this.#fit(inner, isCall ? 'id' : 'tool_use_id', rule);
        yield;
      }
    }
  }

  /** Parallel calls behind the first have no signature. */
  #sign(members: readonly Member[]): void {
    const [calls] = named(members, 'tool_calls').slice(-1);
    if (calls === undefined || this.#text[calls.valueStart] !== openBracket) return;
    const [first] = elementsOf(this.#text, calls.valueStart);
    if (first === undefined || this.#text[first] !== openBrace) return;
    const call = objectMembers(this.#text, { from: first });
    const at = call.at(-1)?.valueEnd;
    if (at === undefined || named(call, 'extra_content').length > 0) return;
    this.#edits.push({ at, until: at, text: unsigned });
  }

  #fit(members: readonly Member[], name: string, rule: IdRule): void {
    const id = this.#textOf(members, name);
    if (id !== null && !rule.fits(id)) this.#replace(members, name, fittingId(id, rule));
  }

  #replace(members: readonly Member[], name: string, text: string): void {
    for (const { valueStart: at, valueEnd: until } of named(members, name))
      this.#edits.push({ at, until, text: JSON.stringify(text) });
  }

  /** A member that is a text of an id's or a name's length; null for any other. */
  #textOf(members: readonly Member[], name: string): string | null {
    const [member] = named(members, name).slice(-1);
    if (member === undefined || this.#text[member.valueStart] !== quote) return null;
    if (member.valueEnd - member.valueStart > smallBytes) return null;
    return JSON.parse(this.#text.toString('utf8', member.valueStart, member.valueEnd)) as string;
  }
}

/** Whether a message begins the next turn behind results. */
function isNext(role: string | null): boolean {
  return role === 'user' || role === 'system' || role === 'developer';
}
