import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from '../translation/api.ts';
import type { MediaPart, Part, ResultPart, TextPart, Turn } from '../translation/conversation.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { deferredInput } from '../anthropic-messages/content-writer.ts';
import type { CachePoints } from '../translation/cache-points.ts';
import { pointBlocks } from './cache-points.ts';
import { familyOf, originOf } from '../model-facts.ts';
import { isText } from '../file-types.ts';
import { unplacedMedia } from '../translation/hosted-history.ts';

interface Message {
  role: string;
  content: Fields[];
}

interface ConverseOptions {
  facts: ModelFacts;
  dropped: DroppedFields;
  points: CachePoints;
}

/** The messages of a conversation, with alternating roles. */
export function writeMessages(turns: readonly Turn[], options: ConverseOptions): Message[] {
  const writer = new BlockWriter(options);
  const messages: Message[] = [];
  for (const { role, parts } of turns) {
    const content = parts.flatMap((part) => [
      ...writer.blocks(part, role),
      ...('cacheTtl' in part ? pointBlocks(options.points.behind(part)) : []),
    ]);
    const last = messages.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  return messages.map(withTextBesideFiles);
}

const fromUser = 'The model takes this part from the user only.';

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
        return [{ text: unplacedMedia(part, this.#options.dropped, fromUser).text }];
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
    const content = marked.map((part) => this.#plain(part));
    return {
      toolResult: { toolUseId: callId, content, ...(isError && this.#hasStatus && { status: 'error' }) },
    };
  }

  #plain(part: TextPart | MediaPart): Fields {
    if (part.kind === 'text') return { text: part.text };
    if (part.kind === 'audio')
      return {
        text: unplacedMedia(part, this.#options.dropped, "Audio in tool results isn't supported.").text,
      };
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

/** Images, files and sounds as blocks of Converse, which takes them as data only. */

/** Formats by the end of a media type. */
const imageFormats: Readonly<Record<string, string | undefined>> = {
  ...{ png: 'png', gif: 'gif', webp: 'webp', jpeg: 'jpeg' },
};
const documentFormats: Readonly<Record<string, string | undefined>> = {
  ...{ pdf: 'pdf', csv: 'csv', html: 'html', markdown: 'md' },
  msword: 'doc',
  'vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'vnd.ms-excel': 'xls',
  'vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
};
const audioFormats: Readonly<Record<string, string | undefined>> = {
  ...{ mp3: 'mp3', mpeg: 'mp3', wav: 'wav', flac: 'flac', ogg: 'ogg', opus: 'opus' },
  ...{ aac: 'aac', 'x-aac': 'x-aac', m4a: 'm4a', mp4: 'mp4', webm: 'webm', pcm: 'pcm' },
};

/** Longer names are refused. */
const maxNameChars = 200;

/** Writes the media of one request. Each file has a name of its own. */
class MediaWriter {
  readonly #dropped: DroppedFields;
  readonly #names = new Set<string>();

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped;
  }

  /** Throws a 400 for a part without a place in Converse. */
  block(part: MediaPart): Fields {
    const { kind, source, name } = part;
    if ('url' in source) return this.#unplaced(part, 'The model takes this part as data only.');
    const { mediaType } = source;
    const ending = mediaType.slice(mediaType.indexOf('/') + 1);
    const bytes = { bytes: source.data };
    switch (kind) {
      case 'image': {
        const format = imageFormats[ending];
        if (format === undefined) return this.#unplaced(part, 'The model takes PNG, JPEG, GIF and WebP.');
        return { image: { format, source: bytes } };
      }
      case 'audio': {
        const format = audioFormats[ending];
        if (format === undefined) return this.#unplaced(part, 'The model has no such audio format.');
        return { audio: { format, source: bytes } };
      }
      case 'file': {
        const format = documentFormats[ending] ?? (isText(mediaType) ? 'txt' : undefined);
        if (format === undefined)
          return this.#unplaced(part, 'The model reads PDF, text, HTML, Word and Excel files.');
        return { document: { format, name: this.#nameOf(name), source: bytes } };
      }
    }
  }

  #unplaced(part: MediaPart, why: string): Fields {
    return { text: unplacedMedia(part, this.#dropped, why).text };
  }

  /** Letters, digits, single spaces, hyphens, parentheses and brackets. No two files have the same name. */
  #nameOf(name: string | null): string {
    const clean = (name ?? '')
      .slice(0, maxNameChars)
      .replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ')
      .trim();
    const base = (clean === '' ? 'document' : clean).slice(0, maxNameChars - 8).trimEnd();
    let unique = base;
    for (let count = 2; this.#names.has(unique); count += 1) unique = `${base} ${count}`;
    this.#names.add(unique);
    return unique;
  }
}
