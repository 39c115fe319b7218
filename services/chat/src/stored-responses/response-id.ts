import { objectId, uuidIn } from '../shared/object-id.ts';

/** The id of a stored response is that of its run, as clients of OpenAI's responses know ids. */

const prefix = 'resp_';

export function responseId(runId: string): string {
  return objectId(prefix, runId);
}

/** The id of the run; null for an id that no stored response has. */
export function runIdOf(id: string): string | null {
  return uuidIn(prefix, id);
}

/** The id by which clients know an item of an input that has none of its own. */
export function placeId(id: string, place: number): string {
  return `msg_${id.slice(prefix.length)}_${place}`;
}

/** The run of such an id, and the place of the item; null for any other id. */
export function readPlaceId(id: string): { runId: string; place: number } | null {
  const [, response, place] = /^msg_([0-9a-f]{32})_(\d{1,6})$/.exec(id) ?? [];
  const runId = response === undefined ? null : runIdOf(`${prefix}${response}`);
  return runId === null ? null : { runId, place: Number(place) };
}

/** The context that the encryption of a response authenticates. */
export function contextOfResponse(
  id: string,
  { tenantId, userId }: { tenantId: string; userId: string | null },
): string {
  return JSON.stringify(['response', tenantId, userId, id]);
}
