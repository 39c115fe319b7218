import type { MediaSource } from './conversation.ts';

/** Longer than any media type. */
const maxTypeChars = 200;

/** The source that an address is: `data:` addresses hold the data themselves (RFC 2397). */
export function sourceOf(url: string): MediaSource {
  const [begin, mediaType] = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, maxTypeChars)) ?? [];
  if (begin === undefined) return { url };
  return { data: url.slice(begin.length), mediaType: mediaType || 'application/octet-stream' };
}

/** The same as an address. */
export function urlOf(source: MediaSource): string {
  return 'url' in source ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** Files in plain text are read as text by every model. */
export function isPlainText({ mediaType }: { mediaType: string }): boolean {
  return /^text\/(?!html)|^application\/json$/.test(mediaType);
}

export function plainText({ data }: { data: string }): string {
  return Buffer.from(data, 'base64').toString('utf8');
}
