import { isFields, type Fields } from '@gatehouse/kit/fields';
import { objectBytes } from '../../bounds.ts';
import { noMatch, OutsideFailure, type Answer, type Question, type TextVerdict } from './outside-check.ts';
import type { PassedTexts } from './passed-texts.ts';

export interface ModelCheckOptions {
  /** Another one for each guardrail and each change of it. */
  version: string;
  passed: PassedTexts;
}

/**
 * Asks once about each text, unless it passed within the last hour, and remembers those passing now. Throws
 * `OutsideFailure` `too_large` for more than 1 MiB of them.
 */
export async function passing(
  { version, passed }: ModelCheckOptions,
  { texts, run: { tenantId } }: Question,
  ask: (texts: readonly string[]) => Promise<Answer>,
): Promise<Answer> {
  const known = passed.forVersion(tenantId, version);
  const fresh = [...new Set(texts.map(({ text }) => text))].filter(
    (text) => text.trim() !== '' && !known.has(text),
  );
  if (fresh.length === 0) return { verdicts: texts.map(() => noMatch), costPico: 0n };
  const bytes = fresh.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > objectBytes) throw new OutsideFailure('too_large');
  const { verdicts, costPico } = await ask(fresh);
  const byText = new Map<string, TextVerdict>();
  for (const [index, text] of fresh.entries()) {
    const verdict = verdicts[index] ?? noMatch;
    byText.set(text, verdict);
    if (verdict.outcome === 'none') known.add(text);
  }
  return { verdicts: texts.map(({ text }) => byText.get(text) ?? noMatch), costPico };
}

/** The answer of a model as an object. Throws `OutsideFailure` for another one. */
export function answerIn(bytes: Buffer): Fields {
  let value: unknown;
  try {
    value = bytes.length > objectBytes ? null : JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new OutsideFailure('malformed', { cause });
  }
  if (!isFields(value)) throw new OutsideFailure(bytes.length > objectBytes ? 'too_large' : 'malformed');
  return value;
}
