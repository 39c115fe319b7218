import { openBracket, textEnd } from '@gatehouse/kit/json-bytes';
import { elementsOf, type Member } from '../wire/json-members.ts';
import type { Rewrite } from '../dialect.ts';
import { Pieces } from '../wire/pieces.ts';

/** OpenAI's embeddings with models of Google's API (https://ai.google.dev/api/embeddings): texts stay as they are written. */

/** The request for `batchEmbedContents` with the texts of one whose input is a text, or a list of texts. */
export function asBatch(body: Buffer, { model }: Rewrite, members: readonly Member[]): Pieces {
  const named = (name: string): Member | undefined => members.find((member) => member.name === name);
  const input = named('input')?.valueStart ?? 0;
  const texts = body[input] === openBracket ? elementsOf(body, input) : [input];
  const dimensions = named('dimensions');
  const wanted = dimensions === undefined ? 'null' : textOf(body, dimensions);
  const head = Buffer.from(`{"model":${JSON.stringify(`models/${model}`)},"content":{"parts":[{"text":`);
  const end = Buffer.from(`}]}${wanted === 'null' ? '' : `,"outputDimensionality":${wanted}`}}`);
  const pieces: Buffer[] = [];
  for (const at of texts)
    pieces.push(pieces.length === 0 ? start : comma, head, body.subarray(at, textEnd(body, at) + 1), end);
  return new Pieces([...pieces, close]);
}

const start = Buffer.from('{"requests":[');
const comma = Buffer.from(',');
const close = Buffer.from(']}');

function textOf(body: Buffer, { valueStart, valueEnd }: Member): string {
  return body.toString('latin1', valueStart, valueEnd);
}
