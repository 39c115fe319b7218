import { getBOMEncoding, normalizeEncoding, TextDecoder } from '@exodus/bytes/encoding.js';
import sniffEncoding from 'html-encoding-sniffer';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import type { PageType } from './page-type.ts';
import { pieceBytes } from '../bounds.ts';

/** Browsers look for the encoding of a page in as many bytes. */
const sniffedBytes = 1_024;

/**
 * The text of a page in the encoding found by browsers: by its byte order mark, the charset of its header, the
 * declaration at the beginning of HTML or XML, or else UTF-8. Bytes outside the encoding become U+FFFD.
 */
export async function pageText(tenantId: string, body: Buffer, type: PageType): Promise<string> {
  const decoder = decoderOf(encodingOf(body, type));
  if (decoder === null) return body.length === 0 ? '' : '\ufffd';
  if (body.length <= pieceBytes) return decoder.decode(body);
  const parts: string[] = [];
  for (let from = 0; from < body.length; from += pieceBytes) {
    const piece = body.subarray(from, from + pieceBytes);
    parts.push(await runCooperatively(tenantId, () => decoder.decode(piece, { stream: true })));
  }
  return parts.join('') + decoder.decode();
}

/** The name of an encoding, in the Encoding standard. */
function encodingOf(body: Buffer, { kind, isXml, charset }: PageType): string {
  const label = charset ?? '';
  // Other texts declare no encoding, whatever they quote.
  if (kind !== 'html' && !isXml) return getBOMEncoding(body) ?? normalizeEncoding(label) ?? 'utf-8';
  return sniffEncoding(body.subarray(0, sniffedBytes), {
    ...{ xml: isXml, transportLayerEncodingLabel: label, defaultEncoding: 'utf-8' },
  });
}

/**
 * Null for encodings refused by browsers, like ISO-2022-KR. The decoder of Node knows less than the standard: it lacks
 * 8,822 syllables of Korean, and most characters of Hong Kong.
 */
function decoderOf(encoding: string): InstanceType<typeof TextDecoder> | null {
  return encoding === 'replacement' ? null : new TextDecoder(encoding);
}
