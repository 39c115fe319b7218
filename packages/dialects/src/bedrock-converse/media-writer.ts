import type { Fields } from '@gatehouse/kit/fields';
import type { MediaPart } from '../translation/conversation.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { isPlainText } from '../file-types.ts';

/** Images, files and sounds as blocks of Converse, which takes them as data only. */

/** Formats by the end of a media type. */
const imageFormats: Readonly<Record<string, string | undefined>> = {
  ...{ png: 'png', gif: 'gif', webp: 'webp', jpeg: 'jpeg', jpg: 'jpeg' },
};
const documentFormats: Readonly<Record<string, string | undefined>> = {
  ...{ pdf: 'pdf', csv: 'csv', html: 'html', markdown: 'md' },
  msword: 'doc',
  'vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'vnd.ms-excel': 'xls',
  'vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
};
const audioFormats: Readonly<Record<string, string | undefined>> = {
  ...{ mp3: 'mp3', mpeg: 'mp3', wav: 'wav', 'x-wav': 'wav', flac: 'flac', ogg: 'ogg', opus: 'opus' },
  ...{ aac: 'aac', 'x-aac': 'x-aac', m4a: 'm4a', mp4: 'mp4', webm: 'webm', pcm: 'pcm' },
};

/** Longer names are refused. */
const maxNameChars = 200;

/** Writes the media of one request, whose files have a name each. */
export class MediaWriter {
  readonly #dropped: DroppedFields;
  readonly #names = new Set<string>();

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped;
  }

  /** Throws a 400 for a part that Converse has no place for. */
  block({ kind, source, name, at }: MediaPart): Fields {
    if ('url' in source)
      throw this.#dropped.unsupportedParameter(at, 'The model takes this part as data only.');
    const type = source.mediaType.toLowerCase();
    const ending = type.slice(type.indexOf('/') + 1);
    const bytes = { bytes: source.data };
    switch (kind) {
      case 'image': {
        const format = this.#known(imageFormats[ending], at, 'The model takes PNG, JPEG, GIF and WebP.');
        return { image: { format, source: bytes } };
      }
      case 'audio': {
        const format = this.#known(audioFormats[ending], at, 'The model has no such audio format.');
        return { audio: { format, source: bytes } };
      }
      case 'file': {
        const plain = isPlainText({ mediaType: type }) ? 'txt' : undefined;
        const format = this.#known(
          documentFormats[ending] ?? plain,
          at,
          'The model reads PDF, text, HTML, Word and Excel files.',
        );
        return { document: { format, name: this.#nameOf(name), source: bytes } };
      }
    }
  }

  #known(format: string | undefined, at: string, why: string): string {
    if (format === undefined) throw this.#dropped.unsupportedParameter(at, why);
    return format;
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
