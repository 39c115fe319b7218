import { ApiError, type ApiClient } from '../api-client.ts';
import type { Declared } from './declared.ts';
import type { Members } from './members.ts';
import { kinds, type Kind } from './kinds.ts';
import type { Step } from './plan.ts';
import { isRevoked, type Present } from './present.ts';
import { DeclarationError, problemOf, type DeclarationProblem } from './problem.ts';
import { withIds, type Ids } from './references.ts';
import type { Creation, SecretsFile } from './secrets-file.ts';

/** Creations of things with secrets shown once. */

/** The gateway keeps the answer to a creation for 24 hours. */
const repeatableMs = 23 * 3_600_000;
/** From the note of a creation to its effect, with the difference of the two clocks. */
const nearMs = 15 * 60_000;

/**
 * Fetches the secrets of things made by an earlier run, if they did not come back. A creation is repeated only for an
 * existing thing. Returns those whose secrets can't be fetched any more. Throws `DeclarationError` if they could be
 * fetched by another request.
 */
export async function fetchSecrets(
  client: ApiClient,
  secrets: SecretsFile,
  { declared, present, ids }: { declared: Declared; present: Present; ids: Ids },
): Promise<DeclarationProblem[]> {
  const lost: DeclarationProblem[] = [];
  for (const creation of await secrets.pending()) {
    const kind = kinds.find(({ name }) => name === creation.kind);
    const declaration =
      kind && declared.get(kind)?.find(({ members }) => members[kind.identity] === creation.name);
    const thing = kind && present.get(kind)?.get(creation.name);
    // Nothing was made without the thing: its step creates it.
    if (kind === undefined || declaration === undefined || thing === undefined) continue;
    const about = { kind, shownName: String(declaration.written[kind.identity]), declaration };
    const made = mayHaveMade(creation, thing)
      ? await create(client, kind, withIds(declaration.members, ids), creation).catch((error: unknown) => {
          if (isFinal(error) && !isOfOtherMembers(error)) return null;
          if (!(error instanceof ApiError)) throw error;
          const problem = isOfOtherMembers(error) ? wasEdited(thing) : error;
          throw new DeclarationError([problemOf(about, problem)], 'Nothing was changed.');
        })
      : null;
    if (made === null) {
      await secrets.giveUp(creation);
      lost.push(problemOf(about, secretsLost(thing)));
    } else await secrets.keep(creation, made, kind.secrets);
  }
  return lost;
}

/** Whether a repeat of the creation returns the answer with the secrets of this thing. */
function mayHaveMade({ sentAt }: Creation, thing: Members): boolean {
  const madeAt = Date.parse(String(thing['created_at']));
  const isNear = sentAt.length === 0 || sentAt.some((each) => Math.abs(madeAt - each) < nearMs);
  return isNear && Date.now() - madeAt < repeatableMs;
}

/** Whether the creation was sent with other members: the gateway answers a repeat only to the same request. */
function isOfOtherMembers(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'idempotency_key_reused';
}

function wasEdited({ id }: Members): ApiError {
  const message = `It exists (${String(id)}), and its secrets did not arrive. Only the declaration with which it was created fetches them: apply that one first, then the edited one.`;
  return new ApiError({ status: 409, code: 'idempotency_key_reused', message });
}

function secretsLost({ id }: Members): ApiError {
  const message = `It exists (${String(id)}), but its secrets did not arrive and can't be fetched any more. Rotate them.`;
  return new ApiError({ status: 409, code: 'secrets_lost', message });
}

/** Creates a thing, and keeps its secrets. A creation sent in vain by an earlier run is repeated by its key. */
export async function createOnce(
  client: ApiClient,
  secrets: SecretsFile,
  step: Pick<Step, 'kind' | 'identity'>,
  json: Members,
): Promise<Members> {
  const { kind, identity: name } = step;
  const pending = await secrets.pending();
  const earlier = pending.find((each) => each.kind === kind.name && each.name === name && isRecent(each));
  const creation = await (earlier === undefined
    ? secrets.begin({ kind: kind.name, name })
    : secrets.repeat(earlier));
  try {
    const made = await create(client, kind, json, creation);
    if (earlier === undefined || (await isThere(client, kind, made))) {
      await secrets.keep(creation, made, kind.secrets);
      return made;
    }
  } catch (error) {
    if (!isFinal(error)) throw error;
    if (earlier === undefined) {
      await secrets.giveUp(creation);
      throw error;
    }
  }
  // The earlier one was refused, or its thing is gone again.
  await secrets.giveUp(creation);
  return createOnce(client, secrets, step, json);
}

function create(
  client: ApiClient,
  { path }: Kind,
  json: Members,
  { idempotencyKey }: Creation,
): Promise<Members> {
  return client.json<Members>({ method: 'POST', path, json, idempotencyKey });
}

function isRecent({ sentAt: [first] }: Creation): boolean {
  return first !== undefined && Date.now() - first < repeatableMs;
}

async function isThere(client: ApiClient, kind: Kind, { id }: Members): Promise<boolean> {
  try {
    const thing = await client.json<Members>({
      method: 'GET',
      path: `${kind.path}/${encodeURIComponent(String(id))}`,
    });
    return !isRevoked(kind, thing);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

/** Statuses without a word about the creation itself: it may have been made with another key, or before. */
const openStatuses = new Set([401, 403, 408, 429]);

/** Whether a creation was refused, rather than lost or still under way: the next one may have other members. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.status < 500 &&
    !openStatuses.has(error.status) &&
    error.code !== 'idempotency_in_progress'
  );
}
