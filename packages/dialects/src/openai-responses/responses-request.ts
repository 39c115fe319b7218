import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { callsOf, feeToolsIn, type FeeTool } from '../usage/fee-tools.ts';
import type { SampleBuilder } from '../usage/token-estimate.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import type { Additions, AnswerView, RequestedAmounts, RequestHead, RequestSource } from '../dialect.ts';
import { saysSomething } from '../provider-errors.ts';
import { signatureTextIn } from '../marked-signatures.ts';
import type { Compaction, RequestState } from '../state-format.ts';
import { parametersIn } from '../request-additions.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { ReadRequest } from '../read-request.ts';
import { effortIn, sessionNamed, type Thinking } from '../request-fields.ts';
import { ClientView } from './client-view.ts';
import { isBilledOffer, isOffered, offeredIn, type OfferedPlaces } from './hosted-calls.ts';
import {
  addItem,
  attachmentsIn,
  inputItems,
  isCall,
  isEmptyThought,
  isOfUser,
  itemText,
  referenceIn,
  sealedSummary,
  spokenText,
} from './items.ts';
import { encryptedReasoning, parameterNames, rewriteRequest } from './request-rewrite.ts';
import { textOf } from '../translation/fields.ts';
import { newId } from '@gatehouse/kit/ids';
import { memberRanges, smallMembers, wholeOf } from '../wire/json-parts.ts';
import { maxDepth } from '../bounds.ts';

/** A request with checked types. */
export class ResponsesRequest extends ReadRequest {
  readonly compaction: Compaction | undefined;
  readonly #items: readonly Fields[];

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, head: Pick<RequestHead, 'model' | 'stream' | 'compaction'>) {
    super(body, fields, head);
    this.compaction = head.compaction;
    this.#items = inputItems(fields['input']);
  }

  override get session(): string | null {
    return sessionNamed(this.fields['prompt_cache_key']);
  }

  /** Also of the tools in namespaces, and of those among the items of the input. */
  get toolNames(): readonly unknown[] {
    return this.tools.flatMap((tool) => namesOf(tool));
  }

  get callIds(): readonly string[] {
    return this.#items.filter(isCall).map((item) => textOf(item['call_id']));
  }

  /** Thoughts count as output. Some servers of this API have a budget of their own for them. */
  thinking(): Thinking {
    const { max_tokens: budget, effort } = Object(this.fields['reasoning']) as Fields;
    return { budgets: typeof budget === 'number' ? [budget] : [], effort: effortIn(effort) };
  }

  requestedAmounts(defaults: Fields): RequestedAmounts {
    const { service_tier: tier } = this.fields;
    const hasLimit = Object.hasOwn(this.fields, 'max_output_tokens');
    const { max_output_tokens: maxTokens } = hasLimit ? this.fields : parametersIn(parameterNames, defaults);
    const { count, bytes, audio } = attachmentsIn(this.#items);
    return {
      choices: 1,
      maxTokens: typeof maxTokens === 'number' && maxTokens >= 0 ? maxTokens : null,
      // https://developers.openai.com/api/docs/guides/compaction#server-side-compaction
      compacts: listOf(this.fields['context_management']).some(
        (entry) => isFields(entry) && entry['type'] === 'compaction',
      ),
      serviceTier: typeof tier === 'string' ? tier : null,
      classes: audio ? ['inputAudio'] : [],
      attachments: { count, bytes },
      feeTools: [...this.#feeTools, ...this.feePlugins('responses', defaults)],
    };
  }

  get state(): RequestState {
    const { previous_response_id: previousId } = this.fields;
    const references = new Map<number, string>();
    const thoughts = new Map<number, string>();
    const places = new Map<string, number>();
    const lastOfUser = this.#items.findLastIndex(({ role }) => role === 'user');
    const summaries = new Map<number, string>();
    for (const [place, item] of this.#items.entries()) {
      const reference = referenceIn(item);
      const { id } = item;
      if (reference !== null) references.set(place, reference);
      else if (isEmptyThought(item)) {
        if (place > lastOfUser && typeof id === 'string') thoughts.set(place, id);
      } else if (typeof id === 'string') places.set(id, place);
      const sealed = sealedSummary(item);
      if (sealed !== null) summaries.set(place, sealed);
    }
    return {
      ...{ previousId: typeof previousId === 'string' ? previousId : null, keeps: this.#stores },
      ...{ count: this.#items.length, references, thoughts, places, summaries },
    };
  }

  get viewWith(): (added: Additions) => AnswerView | null {
    const compacted = this.compaction === 'path' ? new CompactedView(this.#items.filter(isOfUser)) : null;
    const options = { store: this.#stores, encrypted: this.#wantsEncrypted };
    return (added) => {
      const adds = added.systemPrompt !== null || added.toolNames.size > 0 || added.kept !== null;
      const isUnchanged = !options.store && options.encrypted && !adds;
      return compacted ?? (isUnchanged ? null : new ClientView({ ...added, ...options }));
    };
  }

  get keptView(): (added: Additions) => AnswerView {
    return (added) => new ClientView({ ...added, store: true, encrypted: true });
  }

  source(share: Share): RequestSource {
    const state = {
      stores: this.#stores,
      isCompaction: this.compaction === 'path',
      wantsEncrypted: this.#wantsEncrypted,
      asksToReason: saysSomething(this.fields['reasoning']),
      lost: new Set(this.#lost),
      signatures: this.#signatures,
      compactions: this.#compactions,
      offered: this.#offered,
    };
    // No function in here names `this`: V8 would keep it, and with it all values, for as long as the source.
    return new RequestText(this.body, share, (body, rewrite, members) =>
      rewriteRequest(body, { ...rewrite, ...state }, members),
    );
  }

  get #feeTools(): FeeTool[] {
    const { tool_choice: choice, max_tool_calls: most } = this.fields;
    const offers = this.tools.flatMap((tool) => toolsIn(tool));
    // Those in a namespace are not left out of it.
    const removable = new Set(this.tools);
    // Providers refuse a request with a forced call and no tool left.
    const needsThem = choice === 'required' && offers.every(isBilledOffer);
    const tools = feeToolsIn(offers, {
      ...{
        counted: 'in its items',
        isHint: (type, tool) => !needsThem && removable.has(tool) && isOffered(type, choice),
      },
    });
    return tools.map((tool) => ({ ...tool, most: callsOf(most) }));
  }

  /** Signatures by the place of their item. */
  get #signatures(): ReadonlyMap<number, string> {
    const signatures = this.#items.map(({ encrypted_content: signature }) => signatureTextIn(signature));
    return new Map(
      [...signatures.entries()].flatMap(([place, signature]) =>
        signature === null ? [] : [[place, signature]],
      ),
    );
  }

  get #compactions(): ReadonlySet<number> {
    return new Set([...this.#items.keys()].filter((place) => this.#items[place]?.['type'] === 'compaction'));
  }

  /** Offered tools, of the request itself and by the places of items with further tools. */
  get #offered(): ReadonlyMap<number | null, OfferedPlaces> {
    const added = [...this.#items.entries()].filter(([, { type }]) => type === 'additional_tools');
    const all = [
      [null, offeredIn(this.fields['tools'])] as const,
      ...added.map(([place, { tools }]) => [place, offeredIn(tools)] as const),
    ];
    return new Map(all.filter(([, places]) => places.size > 0));
  }

  get #stores(): boolean {
    return this.fields['store'] !== false && this.compaction !== 'path';
  }

  /** Places of thoughts by their id alone: stored ones, as the client takes them for, or summaries of other vendors. */
  get #lost(): readonly number[] {
    return this.#placesOf(isEmptyThought);
  }

  #placesOf(isSuch: (item: Fields) => boolean): readonly number[] {
    const places = [...this.#items.keys()].filter((place) => isSuch(this.#items[place] ?? {}));
    // An input needs an item.
    return places.length < this.#items.length ? places : [];
  }

  get #wantsEncrypted(): boolean {
    return listOf(this.fields['include']).includes(encryptedReasoning);
  }

  protected override get listName(): string {
    return 'input';
  }

  protected override get headNames(): readonly string[] {
    return ['instructions', 'tools'];
  }

  protected override attachmentsOf(item: Fields): MessageAttachments {
    return attachmentsIn([item]);
  }

  protected override get system(): readonly string[] {
    const { instructions } = this.fields;
    return typeof instructions === 'string' ? [instructions] : inputItems(instructions).map(itemText);
  }

  protected override get messages(): readonly Fields[] {
    return this.#items;
  }

  protected override get tools(): readonly unknown[] {
    const added = this.#items.filter(({ type }) => type === 'additional_tools');
    return [this.fields['tools'], ...added.map(({ tools }) => tools)].flatMap(listOf);
  }

  protected override isOfUser(item: Fields): boolean {
    return isOfUser(item);
  }

  protected override textOf(item: Fields): string {
    return itemText(item);
  }

  protected override spokenText(item: Fields): string {
    return spokenText(item, '\n');
  }

  protected override addTo(sample: SampleBuilder, item: Fields): void {
    addItem(sample, item);
  }
}

/** A tool, and those in its namespace. */
function toolsIn(tool: unknown, depth = 0): unknown[] {
  if (!isFields(tool) || depth > maxDepth) return [];
  return [tool, ...listOf(tool['tools']).flatMap((inner) => toolsIn(inner, depth + 1))];
}

function namesOf(tool: unknown): unknown[] {
  return toolsIn(tool).map((each) => (each as Fields)['name']);
}

/**
 * Shows the response with the summary of a conversation as its own kind of answer, with the user's messages. Providers
 * with compaction write this themselves.
 */
class CompactedView implements AnswerView {
  /** The messages as JSON: the request may have much more. */
  readonly #messages: string;

  constructor(messages: readonly Fields[]) {
    this.#messages = JSON.stringify(messages.map(outputMessage));
  }

  frame(frame: Buffer): Buffer {
    return frame;
  }

  async whole(bytes: Buffer, tenantId: string): Promise<Buffer> {
    const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
    const { object } = await smallMembers(bytes, members, { names: ['object'], tenantId });
    return object === 'response' ? this.#compacted(bytes) : bytes;
  }

  #compacted(response: Buffer): Buffer {
    const { id, created_at, output, usage } = JSON.parse(response.toString()) as Fields;
    const lists = [this.#messages, JSON.stringify(listOf(output))].map((list) => list.slice(1, -1));
    const items = lists.filter((list) => list !== '').join(',');
    const head = JSON.stringify({ id, object: 'response.compaction', created_at, usage }).slice(0, -1);
    return Buffer.from(`${head},"output":[${items}]}`);
  }
}

function outputMessage({ id, content, ...others }: Fields): Fields {
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : listOf(content);
  return {
    id: typeof id === 'string' ? id : `msg_${newId().replaceAll('-', '')}`,
    ...others,
    ...{ type: 'message', role: 'user', status: 'completed', content: parts.filter(isFields) },
  };
}
