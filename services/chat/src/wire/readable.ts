import { JsonScan, type JsonLimits } from '@gatehouse/kit/json-scan';

/** Texts up to this size are read within 3 ms. */
const smallBytes = 64 * 1024;
/** Limits on others, which are read within 50 ms. Frames with pictures have one long text. */
const limits: JsonLimits = {
  values: 100_000,
  texts: 50_000,
  escapes: 1_000_000,
  bare: 1024 * 1024,
  depth: 200,
};
const maxLines = 1_000;
const lineFeed = 0x0a;

/** Texts of a frame that is translated are written several times: 100,000 escapes take 40 ms. */
const translated: JsonLimits = { ...limits, values: 20_000, texts: 20_000, escapes: 100_000 };

/** Throws unless a frame is read and translated within 50 ms. */
export function assertTranslatable(frame: Buffer): void {
  assertReadable(frame, translated);
}

/** Throws unless a frame, or a whole answer in place of a stream, is read within 50 ms. */
export function assertReadable(frame: Buffer, most = limits): void {
  if (frame.length <= smallBytes) return;
  let lines = 0;
  for (let at = frame.indexOf(lineFeed); at >= 0; at = frame.indexOf(lineFeed, at + 1)) {
    lines += 1;
    if (lines > maxLines) throw new Error('a frame of the stream has too many lines');
  }
  const exceeded = JsonScan.exceeds(frame, most);
  if (exceeded !== undefined) throw new Error(`a frame of the stream has too much JSON (${exceeded})`);
}
