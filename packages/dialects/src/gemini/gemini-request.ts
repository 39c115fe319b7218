import { cutText } from '@gatehouse/events/cut-text';
import type { Fields } from '@gatehouse/kit/fields';
import { feeToolsIn } from '../usage/fee-tools.ts';
import { toolTypesIn } from './grounding.ts';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import type { TokenClass } from '../usage/usage.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import type { RequestedAmounts, CompletionRequest, RequestInPath, RequestSource } from '../dialect.ts';
import { throughFirst } from '../session.ts';
import { effortIn, noThinking, type Thinking } from '../thinking.ts';
import { addDefinitions } from '../tool-definitions.ts';
import { attachmentsIn, callIn, partsOf, partsText, spokenText } from './content.ts';
import { asGemini } from './defaults.ts';
import { numberOf, objectIn, objectsIn, textOf, valueOf } from './fields.ts';
import { rewriteRequest } from './request-rewrite.ts';

/** More than any provider gives. */
const maxChoices = 1e9;

/** A request whose types have been checked. */
export class GeminiRequest implements CompletionRequest {
  readonly operation = 'chat';
  readonly model: string;
  readonly stream: boolean;
  /** Streams have it unasked. */
  readonly wantsUsage = false;
  /** Nothing in a request of this API names a conversation. */
  readonly session = null;
  readonly choices: number;
  readonly #body: Buffer;
  readonly #fields: Fields;
  readonly #config: Fields;

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, { model, stream }: RequestInPath) {
    this.model = model;
    this.stream = stream;
    this.#body = body;
    this.#fields = fields;
    this.#config = objectIn(fields, 'generationConfig');
    this.choices = this.choicesWith();
  }

  get bytes(): number {
    return this.#body.length;
  }

  get toolNames(): readonly unknown[] {
    return this.#declarations.map(({ name }) => name);
  }

  get callIds(): readonly string[] {
    const parts = this.#contents.flatMap(partsOf);
    return parts.map((part) => textOf(callIn(part)?.['id'])).filter((id) => id !== '');
  }

  get firstTexts(): readonly string[] {
    const first = throughFirst(this.#contents, isOfUser);
    return first.length === 0 ? [] : [this.#system, ...first.map((content) => partsText(partsOf(content)))];
  }

  inputPreview(maxChars: number): string {
    const newest = this.#contents.findLast(isOfUser) ?? this.#contents.at(-1);
    return cutText(spokenText(partsOf(newest), '\n'), maxChars);
  }

  /** The newest with text: after a call of a tool, a content of the user has its result alone. */
  lastUserText(): { index: number; text: string } | null {
    const index = this.#contents.findLastIndex(
      (content) => isOfUser(content) && spokenText(partsOf(content)).trim() !== '',
    );
    return index < 0 ? null : { index, text: spokenText(partsOf(this.#contents[index]), '\n') };
  }

  promptSample(added: readonly (string | TextSample)[] = []): TextSample {
    const sample = new SampleBuilder();
    for (const text of added) {
      if (typeof text === 'string') sample.add(text);
      else sample.addSample(text);
    }
    sample.add(this.#system);
    for (const content of this.#contents) sample.add(partsText(partsOf(content)));
    addDefinitions(sample, this.#declarations);
    return sample.built;
  }

  /** An agent's `n` is not sent. */
  choicesWith(): number {
    const count = numberOf(valueOf(this.#config, 'candidateCount')) ?? 1;
    return Math.min(maxChoices, Math.max(1, count));
  }

  thinking(): Thinking {
    const config = objectIn(this.#config, 'thinkingConfig');
    const budget = numberOf(valueOf(config, 'thinkingBudget'));
    if (budget === 0) return noThinking;
    // −1 leaves it to the model.
    return {
      budgets: budget !== null && budget > 0 ? [budget] : [],
      effort: effortIn(valueOf(config, 'thinkingLevel')),
    };
  }

  requestedAmounts(defaults: Fields): RequestedAmounts {
    const tokenLimit = valueOf(this.#config, 'maxOutputTokens');
    const maxTokens = tokenLimit === undefined ? asGemini(defaults)['maxOutputTokens'] : numberOf(tokenLimit);
    const tier = valueOf(this.#fields, 'serviceTier');
    const attachments = attachmentsIn(this.#contents.flatMap(partsOf));
    return {
      choices: this.choices,
      maxTokens: typeof maxTokens === 'number' && maxTokens >= 0 ? maxTokens : null,
      serviceTier: typeof tier === 'string' ? tier : null,
      classes: [...(attachments.hasAudio ? (['inputAudio'] as const) : []), ...this.#answerClasses],
      attachments: { count: attachments.count, bytes: attachments.bytes },
      feeTools: feeToolsIn(toolTypesIn(this.#fields), { counted: 'at its end' }),
    };
  }

  source(share: Share): RequestSource {
    return new RequestText(this.#body, share, rewriteRequest);
  }

  get #answerClasses(): TokenClass[] {
    const modalities = [valueOf(this.#config, 'responseModalities')]
      .flat()
      .map((name) => textOf(name).toUpperCase());
    return [
      ...(modalities.includes('AUDIO') ? (['outputAudio'] as const) : []),
      ...(modalities.includes('IMAGE') ? (['outputImage'] as const) : []),
    ];
  }

  /** The text of the system instruction. */
  get #system(): string {
    const system = valueOf(this.#fields, 'systemInstruction');
    return typeof system === 'string' ? system : partsText(partsOf(system));
  }

  get #contents(): readonly Fields[] {
    return objectsIn(this.#fields, 'contents');
  }

  get #declarations(): readonly Fields[] {
    return objectsIn(this.#fields, 'tools').flatMap((tool) => objectsIn(tool, 'functionDeclarations'));
  }
}

/** A content without a role is of the user. */
function isOfUser({ role }: Fields): boolean {
  return role === undefined || role === null || role === '' || role === 'user';
}
