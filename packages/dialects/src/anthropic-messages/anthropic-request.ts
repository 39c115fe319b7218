import { cutText } from '@gatehouse/events/cut-text';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { feeToolsIn } from '../usage/fee-tools.ts';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import type { RequestedAmounts, CompletionRequest, RequestHead, RequestSource } from '../dialect.ts';
import { signatureTextIn } from '../marked-signatures.ts';
import { sessionNamed, throughFirst } from '../session.ts';
import { effortIn, noThinking, type Thinking } from '../thinking.ts';
import { addDefinitions } from '../tool-definitions.ts';
import { attachmentsIn, blocksOf, contentText, spokenText } from './content.ts';
import { asAnthropic } from './defaults.ts';
import { rewriteRequest, type SignedMessage } from './request-rewrite.ts';
import { isCall } from './tools.ts';

/** Longer than any client's. */
const maxUserIdChars = 4_096;

/** A request whose types have been checked. */
export class AnthropicRequest implements CompletionRequest {
  readonly operation = 'chat';
  readonly model: string;
  readonly stream: boolean;
  /** Streams have it unasked. */
  readonly wantsUsage = false;
  readonly choices = 1;
  readonly #body: Buffer;
  readonly #fields: Fields;

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, { model, stream }: Pick<RequestHead, 'model' | 'stream'>) {
    this.model = model;
    this.stream = stream;
    this.#body = body;
    this.#fields = fields;
  }

  get bytes(): number {
    return this.#body.length;
  }

  /** Claude Code puts it into the user id: as JSON, or at the end. */
  get session(): string | null {
    const { user_id: userId } = Object(this.#fields['metadata']) as Fields;
    if (typeof userId !== 'string') return null;
    const [, named] = /(?:"session_id": ?"|_session_)([^"]*)/.exec(userId.slice(0, maxUserIdChars)) ?? [];
    return sessionNamed(named);
  }

  get toolNames(): readonly unknown[] {
    return listOf(this.#fields['tools']).map((tool) => (Object(tool) as Fields)['name']);
  }

  get callIds(): readonly string[] {
    const blocks = this.#messages.flatMap(({ content }) => blocksOf(content));
    return blocks.filter(isCall).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  }

  get firstTexts(): readonly string[] {
    const first = throughFirst(this.#messages, ({ role }) => role === 'user');
    return first.length === 0
      ? []
      : [this.#fields['system'], ...first.map(({ content }) => content)].map((content) =>
          contentText(content),
        );
  }

  inputPreview(maxChars: number): string {
    const newest = this.#messages.findLast(({ role }) => role === 'user') ?? this.#messages.at(-1);
    return cutText(spokenText(newest?.['content'], '\n'), maxChars);
  }

  /** The newest with text: after a call of a tool, a message of the user has its result alone. */
  lastUserText(): { index: number; text: string } | null {
    const index = this.#messages.findLastIndex(
      ({ role, content }) => role === 'user' && spokenText(content).trim() !== '',
    );
    return index < 0 ? null : { index, text: spokenText(this.#messages[index]?.['content'], '\n') };
  }

  promptSample(added: readonly (string | TextSample)[] = []): TextSample {
    const sample = new SampleBuilder();
    for (const text of added) {
      if (typeof text === 'string') sample.add(text);
      else sample.addSample(text);
    }
    sample.add(contentText(this.#fields['system']));
    for (const { content } of this.#messages) sample.add(contentText(content));
    addDefinitions(sample, listOf(this.#fields['tools']));
    return sample.built;
  }

  choicesWith(): number {
    return 1;
  }

  /** An adaptive model thinks as for `high` where the request names no effort. */
  thinking(): Thinking {
    const { type, budget_tokens: budget } = Object(this.#fields['thinking']) as Fields;
    const { effort } = Object(this.#fields['output_config']) as Fields;
    if (type === 'disabled') return noThinking;
    return {
      budgets: type === 'enabled' && typeof budget === 'number' ? [budget] : [],
      effort: effortIn(effort) ?? (type === 'adaptive' ? 'high' : null),
    };
  }

  requestedAmounts(defaults: Fields): RequestedAmounts {
    const { service_tier: tier, max_tokens: tokenLimit } = this.#fields;
    const maxTokens = tokenLimit ?? asAnthropic(defaults)['max_tokens'];
    const attachments = this.#messages.map(({ content }) => attachmentsIn(content));
    return {
      choices: 1,
      maxTokens: typeof maxTokens === 'number' && maxTokens >= 0 ? maxTokens : null,
      serviceTier: typeof tier === 'string' ? tier : null,
      classes: [],
      attachments: {
        count: attachments.reduce((sum, { count }) => sum + count, 0),
        bytes: attachments.reduce((sum, { bytes }) => sum + bytes, 0),
      },
      feeTools: feeToolsIn(listOf(this.#fields['tools']), { counted: 'at its end' }),
    };
  }

  source(share: Share): RequestSource {
    const thinks = isFields(this.#fields['thinking']) && this.#fields['thinking']['type'] !== 'disabled';
    const signatures = this.#signatures;
    return new RequestText(this.#body, share, (body, rewrite, members) =>
      rewriteRequest(body, { ...rewrite, thinks, signatures }, members),
    );
  }

  /** Messages that have signatures, by their places. */
  get #signatures(): ReadonlyMap<number, SignedMessage> {
    const signed = new Map<number, SignedMessage>();
    const lastQuestion = this.#messages.findLastIndex(isQuestion);
    for (const [index, { content }] of this.#messages.entries()) {
      const blocks = listOf(content).map((block) => Object(block) as Fields);
      const signatures = new Map<number, string>();
      for (const [place, { type, signature, data }] of blocks.entries()) {
        const text =
          type === 'thinking' || type === 'redacted_thinking' ? signatureTextIn(signature ?? data) : null;
        if (text !== null) signatures.set(place, text);
      }
      const isInLoop = index > lastQuestion && blocks.some(({ type }) => type === 'tool_use');
      if (signatures.size > 0) signed.set(index, { signatures, blocks: blocks.length, isInLoop });
    }
    return signed;
  }

  get #messages(): readonly Fields[] {
    return this.#fields['messages'] as Fields[];
  }
}

/** Whether a message of the user begins a turn: others have results of tools. */
function isQuestion({ role, content }: Fields): boolean {
  return role === 'user' && !blocksOf(content).some(({ type }) => type === 'tool_result');
}
