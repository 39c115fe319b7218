import { backslash, indexOrEnd, openBrace, quote, shortBytes } from '@gatehouse/kit/json-bytes';
import { factsOf } from '@gatehouse/dialects/model-facts';
import { applyEdits, removeMembers, type Edit } from '@gatehouse/dialects/wire/json-edits';
import { objectMembers, valueEnd } from '@gatehouse/dialects/wire/json-members';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';
import { maxWalkedBytes, maxWalkedParts } from '../../bounds.ts';
import { elementsAt, memberAt } from './vertex-embeddings.ts';

const firstWithIds = 300;
const ids: ReadonlySet<string> = new Set(['id']);

/**
 * Google's request without the ids of calls and results, which Vertex AI takes from Gemini 3 on
 * (https://github.com/anomalyco/opencode/pull/50504, read on 2026-11-30) and refuses before (`Unknown name "id"`). Models
 * without them find results by names and order, so results come in the order of their calls.
 */
export function withFittingIds(request: Pieces, rulesName: string): Pieces {
  if ((factsOf({ name: rulesName }).version ?? firstWithIds) >= firstWithIds) return request;
  const body = request.whole;
  if (!body.includes('"id"') || !isWalked(body)) return request;
  const parts = partsIn(body);
  if (parts === null) return request;
  const edits: Edit[] = [];
  let calls: string[] = [];
  let results: PartWithId[] = [];
  for (const part of [...parts, null]) {
    if (part?.kind === 'result') {
      results.push(part);
      continue;
    }
    edits.push(...ordered(results, calls));
    if (results.length > 0) calls = [];
    results = [];
    if (part === null) break;
    calls.push(part.id);
    edits.push({ at: part.at, until: part.until, text: part.text });
  }
  return applyEdits(body, edits);
}

/** A call or a result: its place, its text without the id, and the id's own text. */
interface PartWithId {
  kind: 'call' | 'result';
  at: number;
  until: number;
  text: Buffer;
  id: string;
}

/** Whether a body is walked over in time: most of a large one are long texts, whose ends are found at once. */
function isWalked(body: Buffer): boolean {
  // Each part is passed over several times, and the search for the ends takes time as well.
  let left = maxWalkedBytes / 4;
  let isText = false;
  for (let at = 0; at < body.length && left > 0;) {
    const end = indexOrEnd(body, quote, at);
    let slashes = 0;
    while (isText && body[end - 1 - slashes] === backslash) slashes += 1;
    left -= shortBytes + (isText ? slashes : end - at);
    if (slashes % 2 === 0) isText = !isText;
    at = end + 1;
  }
  return left > 0;
}

/** Calls and results, in order; null for more parts than are searched. */
function partsIn(body: Buffer): PartWithId[] | null {
  const found: PartWithId[] = [];
  let count = 0;
  const contents = memberAt(body, body.indexOf('{'), 'contents');
  for (const content of contents === undefined ? [] : elementsAt(body, contents.valueStart)) {
    const list = memberAt(body, content, 'parts');
    for (const at of list === undefined ? [] : elementsAt(body, list.valueStart)) {
      count += 1;
      if (count > maxWalkedParts) return null;
      const until = valueEnd(body, at);
      const part = partWithId(body.subarray(at, until));
      if (part !== null) found.push({ ...part, at, until });
    }
  }
  return found;
}

function partWithId(part: Buffer): Pick<PartWithId, 'kind' | 'text' | 'id'> | null {
  const call = memberAt(part, 0, 'functionCall');
  const member = call ?? memberAt(part, 0, 'functionResponse');
  if (member === undefined || part[member.valueStart] !== openBrace) return null;
  const edits: Edit[] = [];
  removeMembers(objectMembers(part, { from: member.valueStart }), ids, edits);
  const id = memberAt(part, member.valueStart, 'id');
  return {
    kind: call === undefined ? 'result' : 'call',
    text: applyEdits(part, edits).whole,
    id: id === undefined ? '' : part.toString('utf8', id.valueStart, id.valueEnd),
  };
}

/** Puts results into the places of each other, in the order of their calls if all of them name one. */
function ordered(results: readonly PartWithId[], calls: readonly string[]): Edit[] {
  const places = new Map(calls.map((id, place) => [id, place]));
  const place = ({ id }: PartWithId): number => places.get(id) ?? -1;
  const known = results.every((result) => result.id !== '' && place(result) >= 0);
  const sorted = known ? results.toSorted((a, b) => place(a) - place(b)) : results;
  return results.map(({ at, until }, index) => ({ at, until, text: sorted[index]?.text ?? '' }));
}
