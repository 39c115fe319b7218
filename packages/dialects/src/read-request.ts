import { cutText } from '@gatehouse/events/cut-text';
import { listOf, type Fields } from '@gatehouse/kit/fields';
import type {
  CompletionRequest,
  Operation,
  RequestedAmounts,
  RequestHead,
  RequestSource,
} from './dialect.ts';
import { modelsOfPlugins, modelsOfTools, namesOfModels } from './other-models.ts';
import { promptParts, type MessageAttachments, type PromptParts } from './prompt-parts.ts';
import type { OtherModel, Thinking } from './request-fields.ts';
import type { DialectName } from '@gatehouse/contract/dialects';
import { feeToolsIn, pluginTools, type FeeTool } from './usage/fee-tools.ts';
import { SampleBuilder, type TextSample } from './usage/token-estimate.ts';
import { jsonPieces } from './wire/json-pieces.ts';
import type { Share } from './wire/request-text.ts';
import { maxFirstTexts } from './bounds.ts';

/** A request with checked types, in any dialect. */
export abstract class ReadRequest implements CompletionRequest {
  readonly operation: Operation = 'chat';
  readonly model: string;
  readonly stream: boolean;
  /** APIs other than chat completions send the usage of streams unasked. */
  readonly wantsUsage: boolean = false;
  readonly choices: number;
  protected readonly body: Buffer;
  protected readonly fields: Fields;

  /** `fields`: the body, parsed. */
  constructor(
    body: Buffer,
    fields: Fields,
    { model, stream, choices = 1 }: Pick<RequestHead, 'model' | 'stream'> & Partial<RequestHead>,
  ) {
    this.body = body;
    this.fields = fields;
    this.model = model;
    this.stream = stream;
    this.choices = choices;
  }

  get bytes(): number {
    return this.body.length;
  }

  get session(): string | null {
    return null;
  }

  get firstTexts(): readonly string[] {
    const { messages } = this;
    const end = messages.findIndex((message) => this.isOfUser(message)) + 1;
    const first = messages.slice(Math.max(0, end - maxFirstTexts), end);
    return first.length === 0 ? [] : [...this.system, ...first.map((message) => this.textOf(message))];
  }

  inputPreview(maxChars: number): string {
    const { messages } = this;
    const newest = messages.findLast((message) => this.isOfUser(message)) ?? messages.at(-1);
    return newest === undefined ? '' : cutText(this.spokenText(newest), maxChars);
  }

  /** The newest with text: after a call of a tool, a message of the user has its result alone. */
  lastUserText(): { index: number; text: string } | null {
    const { messages } = this;
    const index = messages.findLastIndex(
      (message) => this.isOfUser(message) && this.spokenText(message).trim() !== '',
    );
    return index < 0 ? null : { index, text: this.spokenText(messages[index] ?? {}) };
  }

  promptSample(added: readonly (string | TextSample)[] = []): TextSample {
    const sample = new SampleBuilder();
    for (const text of added) {
      if (typeof text === 'string') sample.add(text);
      else sample.addSample(text);
    }
    for (const text of this.system) sample.add(text);
    for (const message of this.messages) this.addTo(sample, message);
    addDefinitions(sample, this.tools);
    return sample.built;
  }

  promptParts(): PromptParts | null {
    if (this.operation !== 'chat') return null;
    const { body, fields, listName: list, headNames: heads } = this;
    const messages = this.messages.map((message) => ({ message, attachments: this.attachmentsOf(message) }));
    return promptParts({ body, fields, list, heads, messages });
  }

  choicesWith(_defaults: Fields): number {
    return this.choices;
  }

  otherModels(defaults: Fields): OtherModel[] {
    const { models, fallbacks, plugins } = { ...defaults, ...this.fields };
    return Object.entries({
      models: listOf(models).flatMap(namesOfModels),
      fallbacks: listOf(fallbacks).flatMap(namesOfModels),
      plugins: modelsOfPlugins(plugins),
      tools: modelsOfTools(this.tools),
    }).flatMap(([param, names]) => Array.from(names, (name) => ({ name, param })));
  }

  abstract get toolNames(): readonly unknown[];
  abstract get callIds(): readonly string[];
  abstract thinking(defaults: Fields): Thinking;
  abstract requestedAmounts(defaults: Fields): RequestedAmounts;
  abstract source(share: Share): RequestSource;

  /** The member of the body with the messages. */
  protected abstract get listName(): string;
  /** The members of the body before the messages: system prompt and tools. Others are in no prompt. */
  protected abstract get headNames(): readonly string[];
  /** Pictures, sounds and files of a message. */
  protected abstract attachmentsOf(message: Fields): MessageAttachments;
  /** The system texts before the messages. */
  protected abstract get system(): readonly string[];
  protected abstract get messages(): readonly Fields[];
  /** Definitions of the client's tools. */
  protected abstract get tools(): readonly unknown[];
  protected abstract isOfUser(message: Fields): boolean;
  /** The text of a message with a cost in tokens. */
  protected abstract textOf(message: Fields): string;
  /** The texts of a message for a reader, each in a line. */
  protected abstract spokenText(message: Fields): string;

  /** OpenRouter's plugins with a fee. No answer counts their calls. */
  protected feePlugins(onlyIn: DialectName, defaults: Fields): FeeTool[] {
    const { plugins } = { ...defaults, ...this.fields };
    return feeToolsIn(pluginTools(plugins), { counted: 'never', onlyIn });
  }

  protected addTo(sample: SampleBuilder, message: Fields): void {
    sample.add(this.textOf(message));
  }
}

/**
 * Models read the definitions of tools as they read messages. Beyond the sample, the others count as these do. The first
 * one is always measured.
 */
function addDefinitions(sample: SampleBuilder, definitions: readonly unknown[]): void {
  let chars = 0;
  for (const [index, definition] of definitions.entries()) {
    if (index > 0 && sample.isFull) {
      sample.addChars((chars / index) * (definitions.length - index));
      return;
    }
    chars += addDefinition(sample, definition);
  }
}

/** A definition may have 30 MB, which JSON takes 100 ms to write. Returns its characters, without escapes behind the sample. */
function addDefinition(sample: SampleBuilder, definition: unknown): number {
  let chars = 0;
  for (const piece of jsonPieces(definition)) {
    sample.add(piece);
    chars += piece.length;
    if (!sample.isFull) continue;
    const behind = Math.max(0, charsOf(definition) - chars);
    sample.addChars(behind);
    return chars + behind;
  }
  return chars;
}

function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + charsOf(each) + 1, 1);
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + charsOf(each) + 4, 1);
}
