import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from '../translation/api.ts';
import type { MediaPart, Part, ResultPart, TextPart, Turn } from '../translation/conversation.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { deferredInput } from '../anthropic-messages/content-writer.ts';
import { isEmpty } from '../translation/ordered-turns.ts';
import type { CachePoints } from './cache-points.ts';
import { MediaWriter } from './media-writer.ts';
import { familyOf, originOf } from '../model-family.ts';

interface Message {
  role: string;
  content: Fields[];
}

interface ConverseOptions {
  facts: ModelFacts;
  dropped: DroppedFields;
  points: CachePoints;
}

/**
 * The messages of a conversation, whose roles alternate. Claude takes system texts in the middle; for other models they are
 * the user's.
 */
export function writeMessages(turns: readonly Turn[], options: ConverseOptions): Message[] {
  const writer = new BlockWriter(options);
  const takesSystem = familyOf(options.facts) === 'claude';
  const messages: Message[] = [];
  for (const turn of turns) {
    const role = turn.role === 'system' && !takesSystem ? 'user' : turn.role;
    const content = turn.parts.flatMap((part) => [
      ...writer.blocks(part, role),
      ...('cacheTtl' in part ? options.points.behind(part) : []),
    ]);
    const last = messages.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  return messages.map(withTextBesideFiles);
}

/** A file alone is refused. */
function withTextBesideFiles({ role, content }: Message): Message {
  const file = content.find((block) => 'document' in block);
  if (file === undefined || content.some((block) => 'text' in block)) return { role, content };
  return { role, content: [...content, { text: String((file['document'] as Fields)['name']) }] };
}

class BlockWriter {
  readonly #options: ConverseOptions;
  readonly #media: MediaWriter;
  /** Whether results have a status: for other models it is refused. */
  readonly #hasStatus: boolean;

  constructor(options: ConverseOptions) {
    this.#options = options;
    this.#media = new MediaWriter(options.dropped);
    this.#hasStatus = ['claude', 'nova'].includes(familyOf(options.facts));
  }

  blocks(part: Part, role: string): Fields[] {
    switch (part.kind) {
      case 'text':
      case 'refusal':
        return [{ text: part.text }];
      case 'thinking':
        return this.#thought(part);
      case 'call': {
        const { id, name } = part;
        return [{ toolUse: { toolUseId: id, name, input: deferredInput(part) } }];
      }
      case 'result':
        return [this.#result(part)];
      default:
        if (role === 'user') return [this.#media.block(part)];
        throw this.#options.dropped.unsupportedParameter(
          part.at,
          'The model takes this part from the user only.',
        );
    }
  }

  #thought({ text, signature }: Extract<Part, { kind: 'thinking' }>): Fields[] {
    if (signature?.origin !== originOf(this.#options.facts)) return [];
    const reasoningContent = signature.isRedacted
      ? { redactedContent: signature.text }
      : { reasoningText: { text, signature: signature.text } };
    return [{ reasoningContent }];
  }

  #result({ callId, parts, isError }: ResultPart): Fields {
    const marked = isError && !this.#hasStatus ? asError(parts) : parts;
    const content = marked.filter((part) => !isEmpty(part)).map((part) => this.#plain(part));
    return {
      toolResult: { toolUseId: callId, content, ...(isError && this.#hasStatus && { status: 'error' }) },
    };
  }

  #plain(part: TextPart | MediaPart): Fields {
    if (part.kind === 'text') return { text: part.text };
    if (part.kind === 'audio')
      throw this.#options.dropped.unsupportedParameter(part.at, "Audio in tool results isn't supported.");
    return this.#media.block(part);
  }
}

/** An error is said in the text where nothing else says so. */
function asError(parts: readonly (TextPart | MediaPart)[]): (TextPart | MediaPart)[] {
  const [first, ...others] = parts;
  return first?.kind === 'text'
    ? [{ kind: 'text', text: `Error: ${first.text}` }, ...others]
    : [{ kind: 'text', text: 'Error' }, ...parts];
}
