import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { RequestedAmounts, RequestHead, RequestSource, Rewrite } from '../dialect.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { ReadRequest } from '../read-request.ts';
import { sessionNamed, type Thinking } from '../request-fields.ts';
import { attachmentsIn, requestedAmounts, choicesIn, thinkingIn } from './requested-amounts.ts';
import { messageText } from './message-text.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import { rewriteRequest } from './request-rewrite.ts';
import { idOf } from './tool-calls.ts';

/** A request with checked types. */
export class OpenAiRequest extends ReadRequest {
  override readonly wantsUsage: boolean;
  readonly #dropped: readonly string[];

  /** `fields`: the body, parsed. `dropped`: names of the client's fields that it no longer has. */
  constructor(body: Buffer, fields: Fields, head: RequestHead, dropped: readonly string[] = []) {
    super(body, fields, head);
    this.wantsUsage = head.wantsUsage;
    this.#dropped = dropped;
  }

  override get session(): string | null {
    return sessionNamed(this.fields['prompt_cache_key']);
  }

  get toolNames(): readonly unknown[] {
    return listOf(this.fields['tools']).map(
      (tool) => (Object(tool) as { function?: { name?: unknown } }).function?.name,
    );
  }

  get callIds(): readonly string[] {
    const ids: string[] = [];
    for (const message of this.messages)
      for (const call of listOf(message['tool_calls'])) if (isFields(call)) ids.push(idOf(call));
    return ids;
  }

  /** Only the newest message of the user counts, also one without text. */
  override lastUserText(): { index: number; text: string } | null {
    const last = super.lastUserText();
    const newest = this.messages.findLastIndex((message) => this.isOfUser(message));
    return last?.index === newest ? last : null;
  }

  override choicesWith(defaults: Fields): number {
    return choicesIn(this.fields, defaults);
  }

  thinking(defaults: Fields): Thinking {
    return thinkingIn(this.fields, defaults);
  }

  requestedAmounts(defaults: Fields): RequestedAmounts {
    return requestedAmounts(this.fields, defaults);
  }

  source(share: Share): RequestSource {
    return new ChatText(this.body, share, this.#dropped);
  }

  protected override get listName(): string {
    return 'messages';
  }

  protected override get headNames(): readonly string[] {
    return ['tools', 'functions'];
  }

  protected override attachmentsOf(message: Fields): MessageAttachments {
    return attachmentsIn([message]);
  }

  /** System texts are messages. */
  protected override get system(): readonly string[] {
    return [];
  }

  protected override get messages(): readonly Fields[] {
    return listOf(this.fields['messages']) as Fields[];
  }

  protected override get tools(): readonly unknown[] {
    return [this.fields['tools'], this.fields['functions']].flatMap(listOf);
  }

  protected override isOfUser({ role }: Fields): boolean {
    return role === 'user';
  }

  protected override textOf(message: Fields): string {
    return messageText(message);
  }

  protected override spokenText({ content }: Fields): string {
    return plainText(content);
  }
}

class ChatText extends RequestText<Rewrite> {
  readonly #dropped: readonly string[];

  constructor(body: Buffer, share: Share, dropped: readonly string[]) {
    super(body, share, rewriteRequest);
    this.#dropped = dropped;
  }

  droppedFields(): readonly string[] {
    return this.#dropped;
  }
}

/** Plain text of a string, of content parts, or of a list of inputs. */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  const texts = value.map((part: unknown) => {
    if (typeof part === 'string') return part;
    const text = (part as { text?: unknown } | null)?.text;
    return typeof text === 'string' ? text : '';
  });
  return texts.filter((text) => text !== '').join('\n');
}
