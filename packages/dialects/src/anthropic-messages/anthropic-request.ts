import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { feeToolsIn } from '../usage/fee-tools.ts';
import { RequestText, type Share } from '../wire/request-text.ts';
import type { RequestedAmounts, RequestSource } from '../dialect.ts';
import { signatureTextIn } from '../marked-signatures.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { ReadRequest } from '../read-request.ts';
import { effortIn, noThinking, sessionNamed, type Thinking } from '../request-fields.ts';
import { attachmentsIn, blocksOf, contentText, spokenText } from './content.ts';
import { asAnthropic, rewriteRequest, type SignedMessage } from './request-rewrite.ts';
import { isCall } from './tools.ts';

/** Longer than any client's. */
const maxUserIdChars = 4_096;

/** A request with checked types. */
export class AnthropicRequest extends ReadRequest {
  /** Claude Code puts it into the user id: as JSON, or at the end. */
  override get session(): string | null {
    const { user_id: userId } = Object(this.fields['metadata']) as Fields;
    if (typeof userId !== 'string') return null;
    const [, named] = /(?:"session_id": ?"|_session_)([^"]*)/.exec(userId.slice(0, maxUserIdChars)) ?? [];
    return sessionNamed(named);
  }

  get toolNames(): readonly unknown[] {
    return this.tools.map((tool) => (Object(tool) as Fields)['name']);
  }

  get callIds(): readonly string[] {
    const blocks = this.messages.flatMap(({ content }) => blocksOf(content));
    return blocks.filter(isCall).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  }

  /** An adaptive model thinks as for `high` where the request names no effort. */
  thinking(): Thinking {
    const { type, budget_tokens: budget } = Object(this.fields['thinking']) as Fields;
    const { effort } = Object(this.fields['output_config']) as Fields;
    if (type === 'disabled') return noThinking;
    return {
      budgets: type === 'enabled' && typeof budget === 'number' ? [budget] : [],
      effort: effortIn(effort) ?? (type === 'adaptive' ? 'high' : null),
    };
  }

  requestedAmounts(defaults: Fields): RequestedAmounts {
    const { service_tier: tier, speed, max_tokens: tokenLimit } = this.fields;
    const maxTokens = tokenLimit ?? asAnthropic(defaults)['max_tokens'];
    const attachments = this.messages.map((message) => this.attachmentsOf(message));
    return {
      choices: 1,
      maxTokens: typeof maxTokens === 'number' && maxTokens >= 0 ? maxTokens : null,
      compacts: this.#edits.some(({ type }) => typeof type === 'string' && type.startsWith('compact_')),
      serviceTier: speed === 'fast' ? 'priority' : typeof tier === 'string' ? tier : null,
      classes: [],
      attachments: {
        count: attachments.reduce((sum, { count }) => sum + count, 0),
        bytes: attachments.reduce((sum, { bytes }) => sum + bytes, 0),
      },
      feeTools: [
        ...feeToolsIn(this.tools, { counted: 'at its end' }),
        ...this.feePlugins('messages', defaults),
      ],
    };
  }

  source(share: Share): RequestSource {
    const thinks = isFields(this.fields['thinking']) && this.fields['thinking']['type'] !== 'disabled';
    const signatures = this.#signatures;
    return new RequestText(this.body, share, (body, rewrite, members) =>
      rewriteRequest(body, { ...rewrite, thinks, signatures }, members),
    );
  }

  /** https://platform.claude.com/docs/en/build-with-claude/compaction-threshold */
  get #edits(): readonly Fields[] {
    const { edits } = Object(this.fields['context_management']) as Fields;
    return listOf(edits).filter(isFields);
  }

  /** Messages with signatures, by their places; a thought without one has an empty text. */
  get #signatures(): ReadonlyMap<number, SignedMessage> {
    const signed = new Map<number, SignedMessage>();
    const lastQuestion = this.messages.findLastIndex(isQuestion);
    for (const [index, { content }] of this.messages.entries()) {
      const blocks = listOf(content).map((block) => Object(block) as Fields);
      const signatures = new Map<number, string>();
      for (const [place, { type, signature, data }] of blocks.entries()) {
        const text =
          type === 'thinking' || type === 'redacted_thinking' ? signatureTextIn(signature ?? data) : null;
        if (text !== null || type === 'thinking') signatures.set(place, text ?? '');
      }
      const isInLoop = index > lastQuestion && blocks.some(({ type }) => type === 'tool_use');
      if (signatures.size > 0) signed.set(index, { signatures, blocks: blocks.length, isInLoop });
    }
    return signed;
  }

  protected override get listName(): string {
    return 'messages';
  }

  protected override get headNames(): readonly string[] {
    return ['system', 'tools'];
  }

  protected override attachmentsOf({ content }: Fields): MessageAttachments {
    return attachmentsIn(content);
  }

  protected override get system(): readonly string[] {
    return [contentText(this.fields['system'])];
  }

  protected override get messages(): readonly Fields[] {
    return this.fields['messages'] as Fields[];
  }

  protected override get tools(): readonly unknown[] {
    const added = this.messages.filter(({ role }) => role === 'system').flatMap(definitionsIn);
    return [...listOf(this.fields['tools']), ...added];
  }

  protected override isOfUser({ role }: Fields): boolean {
    return role === 'user';
  }

  protected override textOf({ content }: Fields): string {
    return contentText(content);
  }

  protected override spokenText({ content }: Fields): string {
    return spokenText(content, '\n');
  }
}

/** Whether a message of the user begins a turn: others have results of tools. */
function isQuestion({ role, content }: Fields): boolean {
  return role === 'user' && !blocksOf(content).some(({ type }) => type === 'tool_result');
}

/**
 * The tools that a system message in the conversation defines
 * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
 */
function definitionsIn({ content }: Fields): unknown[] {
  const additions = blocksOf(content).filter(({ type }) => type === 'tool_addition');
  return additions.flatMap(({ tool }) =>
    isFields(tool) && isFields(tool['definition']) ? [tool['definition']] : [],
  );
}
