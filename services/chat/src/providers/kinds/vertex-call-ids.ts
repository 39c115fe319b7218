import { openBrace } from '@gatehouse/kit/json-bytes';
import { scanPieces } from '@gatehouse/kit/json-scan';
import { factsOf } from '@gatehouse/dialects/model-facts';
import { applyEdits, removeMembers, type Edit } from '@gatehouse/dialects/wire/json-edits';
import { objectMembers, valueEnd } from '@gatehouse/dialects/wire/json-members';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';
import { idLimits, maxWalkedParts } from '../../bounds.ts';
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

/** Whether a body is walked over in time. Notes the ends of its long texts, which are passed over at once. */
function isWalked(body: Buffer): boolean {
  for (const scan of scanPieces(body)) if (scan.exceeds(idLimits) !== undefined) return false;
  return true;
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
      const part = partWithId(body, at);
      if (part !== null) found.push(part);
    }
  }
  return found;
}

/** Reads in the whole body, by whose places the ends of texts are noted. */
function partWithId(body: Buffer, at: number): PartWithId | null {
  const call = memberAt(body, at, 'functionCall');
  const member = call ?? memberAt(body, at, 'functionResponse');
  if (member === undefined || body[member.valueStart] !== openBrace) return null;
  const members = objectMembers(body, { from: member.valueStart });
  const edits: Edit[] = [];
  removeMembers(members, ids, edits);
  const until = valueEnd(body, at);
  const inside = edits.map((edit) => ({ ...edit, at: edit.at - at, until: edit.until - at }));
  const id = members.findLast(({ name }) => name === 'id');
  return {
    ...{ kind: call === undefined ? 'result' : 'call', at, until },
    text: applyEdits(body.subarray(at, until), inside).whole,
    id: id === undefined ? '' : body.toString('utf8', id.valueStart, id.valueEnd),
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
