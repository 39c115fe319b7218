import { cutText } from '@gatehouse/events/cut-text';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import type {
  RequestedAmounts,
  CompletionRequest,
  Operation,
  RequestHead,
  RequestSource,
} from '../dialect.ts';
import { sessionNamed, throughFirst } from '../session.ts';
import type { Thinking } from '../thinking.ts';
import { addDefinitions } from '../tool-definitions.ts';
import { requestedAmounts, choicesIn, thinkingIn } from './requested-amounts.ts';
import { messageText, tokensIn } from './message-text.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import { rewriteRequest } from './request-rewrite.ts';
import { idOf } from './tool-calls.ts';

/** A request whose types have been checked. */
export class OpenAiRequest implements CompletionRequest {
  readonly operation: Operation;
  readonly model: string;
  readonly stream: boolean;
  readonly wantsUsage: boolean;
  readonly choices: number;
  readonly #body: Buffer;
  readonly #fields: Fields;

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, head: RequestHead) {
    this.operation = head.operation;
    this.model = head.model;
    this.stream = head.stream;
    this.wantsUsage = head.wantsUsage;
    this.choices = head.choices;
    this.#body = body;
    this.#fields = fields;
  }

  get bytes(): number {
    return this.#body.length;
  }

  get session(): string | null {
    return sessionNamed(this.#fields['prompt_cache_key']);
  }

  get toolNames(): readonly unknown[] {
    return listOf(this.#fields['tools']).map(
      (tool) => (Object(tool) as { function?: { name?: unknown } }).function?.name,
    );
  }

  get callIds(): readonly string[] {
    const messages = listOf(this.#fields['messages']).filter(isFields);
    return messages.flatMap((message) => listOf(message['tool_calls']).filter(isFields).map(idOf));
  }

  get firstTexts(): readonly string[] {
    const messages = listOf(this.#fields['messages']).filter(isFields);
    return throughFirst(messages, ({ role }) => role === 'user').map(messageText);
  }

  inputPreview(maxChars: number): string {
    const { messages, input } = this.#fields;
    return cutText(textOf(this.operation === 'chat' ? lastUserMessage(messages) : input), maxChars);
  }

  lastUserText(): { index: number; text: string } | null {
    const messages = this.#fields['messages'] as { role?: unknown; content?: unknown }[];
    const index = messages.findLastIndex(({ role }) => role === 'user');
    const text = textOf(messages[index]?.content);
    return text.trim() === '' ? null : { index, text };
  }

  promptSample(added: readonly (string | TextSample)[] = []): TextSample {
    const sample = new SampleBuilder();
    for (const text of added) {
      if (typeof text === 'string') sample.add(text);
      else sample.addSample(text);
    }
    if (this.operation === 'chat') {
      for (const message of this.#fields['messages'] as Fields[]) sample.add(messageText(message));
      addDefinitions(sample, [this.#fields['tools'], this.#fields['functions']].flatMap(listOf));
    } else {
      sample.add(textOf(this.#fields['input']));
      sample.addTokens(tokensIn(this.#fields['input']));
    }
    return sample.built;
  }

  choicesWith(defaults: Fields): number {
    return choicesIn(this.#fields, defaults);
  }

  thinking(defaults: Fields): Thinking {
    return thinkingIn(this.#fields, defaults);
  }

  requestedAmounts(defaults: Fields): RequestedAmounts {
    return requestedAmounts(this.#fields, defaults);
  }

  source(share: Share): RequestSource {
    return new RequestText(this.#body, share, rewriteRequest);
  }
}

function lastUserMessage(messages: unknown): unknown {
  const all = messages as { role?: unknown; content?: unknown }[];
  return (all.findLast((message) => message.role === 'user') ?? all.at(-1))?.content;
}

/** Plain text of a string, of content parts, or of a list of inputs. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  const texts = value.map((part: unknown) => {
    if (typeof part === 'string') return part;
    const text = (part as { text?: unknown } | null)?.text;
    return typeof text === 'string' ? text : '';
  });
  return texts.filter((text) => text !== '').join('\n');
}
