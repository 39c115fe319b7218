import { smallBytes } from '@gatehouse/kit/json-bytes';
import { JsonScan, type JsonLimits } from '@gatehouse/kit/json-scan';
import { maxTranslatedBytes } from '../bounds.ts';

/** Limits on others, which are read within 50 ms. Frames with pictures have one long text. */
const limits: JsonLimits = {
  values: 100_000,
  texts: 50_000,
  escapes: 300_000,
  bare: 1024 * 1024,
  depth: 200,
};

/** Texts of a translated frame are written several times: 100,000 escapes take 40 ms, and so do 4 MiB. */
const translated: JsonLimits = { ...limits, values: 20_000, texts: 20_000, escapes: 100_000 };

/** Throws unless a frame is read and translated within 50 ms. */
export function assertTranslatable(frame: Buffer): void {
  if (frame.length > maxTranslatedBytes)
    throw new Error('a frame of the stream is too large to be translated');
  assertReadable(frame, translated);
}

/** Throws unless a frame, or a whole answer in place of a stream, is read within 50 ms. */
export function assertReadable(frame: Buffer, most = limits): void {
  if (frame.length <= smallBytes) return;
  const exceeded = JsonScan.exceeds(frame, most);
  if (exceeded !== undefined) throw new Error(`a frame of the stream has too much JSON (${exceeded})`);
}
