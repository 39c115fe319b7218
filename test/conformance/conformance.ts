import assert from 'node:assert/strict';
import { assemble } from './assemble.ts';
import { streamProblems } from './event-stream.ts';
import { send, type Exchange, type Target } from './exchanges.ts';
import type { SchemaCheck } from './schema-check.ts';

/** Makes one exchange and returns everything that is wrong with its answer. */
export async function problemsOf(target: Target, exchange: Exchange, check: SchemaCheck): Promise<string[]> {
  const { response, text, documents } = await send(target, exchange);
  const { kind, status, shows, body } = exchange;
  const problems: string[] = [];
  if (response.status !== status) problems.push(`the status is ${response.status}: ${text}`);

  // An error in the middle of a stream comes after chunks.
  const early = kind === 'error' ? documents.slice(0, -1) : [];
  const own = documents.slice(early.length);
  problems.push(...early.flatMap((document) => check('chunk', document)));
  problems.push(...own.flatMap((document) => check(kind, document)));

  const assembled = kind === 'completion' || kind === 'chunk' ? assemble(documents) : (own[0] ?? {});
  try {
    assert.partialDeepStrictEqual(assembled, shows);
  } catch {
    problems.push(`it does not show ${JSON.stringify(shows)}: ${JSON.stringify(assembled)}`);
  }
  if (kind === 'chunk')
    problems.push(...streamProblems(response, text, body?.(target)['stream_options'] !== undefined));
  if (kind === 'error' && text.includes('[DONE]')) problems.push('an error is followed by [DONE]');
  return problems;
}
