import { objectId, uuidIn } from '../shared/object-id.ts';

/** Id of a stored response: that of its run, in the form of ids known to clients of OpenAI's responses. */

const prefix = 'resp_';

export function responseId(runId: string): string {
  return objectId(prefix, runId);
}

/** Id of the run; null for an id no stored response has. */
export function runIdOf(id: string): string | null {
  return uuidIn(prefix, id);
}

/** Id of an item of an input for clients, if the item has no id of its own. */
export function placeId(id: string, place: number): string {
  return `msg_${id.slice(prefix.length)}_${place}`;
}

/** Run of one of these ids, and the place of the item; null for any other id. */
export function readPlaceId(id: string): { runId: string; place: number } | null {
  const [, response, place] = /^msg_([0-9a-f]{32})_(\d{1,6})$/.exec(id) ?? [];
  const runId = response === undefined ? null : runIdOf(`${prefix}${response}`);
  return runId === null ? null : { runId, place: Number(place) };
}

/** Context authenticated by the encryption of a response. */
export function contextOfResponse(
  id: string,
  { tenantId, userId }: { tenantId: string; userId: string | null },
): string {
  return JSON.stringify(['response', tenantId, userId, id]);
}
