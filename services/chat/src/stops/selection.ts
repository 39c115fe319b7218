import { hash } from 'node:crypto';
import { cacheKey } from '@gatehouse/kit/cache-key';

/** The facts of a run by which stops select it. */
export interface RunSubject {
  tenantId: string;
  sessionId: string | null;
  userId: string | null;
  agentId: string | null;
  apiKeyId: string | null;
}

/** The facts compared by a stop, by its kind. A run without one of them is not selected. */
const selections = {
  session: ({ sessionId }) => [sessionId],
  user: ({ userId }) => [userId],
  agent: ({ agentId }) => [agentId],
  api_key: ({ apiKeyId }) => [apiKeyId],
  session_of_user: ({ userId, sessionId }) => [userId, sessionId],
  session_of_key: ({ apiKeyId, sessionId }) => [apiKeyId, sessionId],
  agent_of_user: ({ userId, agentId }) => [userId, agentId],
  api_key_of_user: ({ userId, apiKeyId }) => [userId, apiKeyId],
} satisfies Record<string, (run: RunSubject) => readonly (string | null)[]>;
export type Selection = keyof typeof selections;

/** The name of the selected thing in a message. */
export const selectedThing: Readonly<Record<Selection, string>> = {
  session: 'session',
  user: 'user',
  agent: 'agent',
  api_key: 'API key',
  session_of_user: 'session',
  session_of_key: 'session',
  agent_of_user: 'agent',
  api_key_of_user: 'API key',
};

/** In the order in which a request is compared with stops. */
export const allSelections = Object.keys(selections) as readonly Selection[];

/** SHA-256 of a selection and its values: no name is stored; null for a run without one of them. */
export function digestBy(selection: Selection, run: RunSubject): Buffer | null {
  const values = selections[selection](run);
  if (values.includes(null)) return null;
  return hash('sha256', cacheKey(run.tenantId, selection, ...values), 'buffer');
}

/** SHA-256 of a user, as the sender of stops. */
export function digestOfUser(tenantId: string, userId: string): Buffer {
  return hash('sha256', cacheKey(tenantId, 'sender', userId), 'buffer');
}

/** The members of a request to stop runs, of which a client sends one. */
export interface NamedRuns {
  session_id?: string | undefined;
  user_id?: string | undefined;
  agent_id?: string | undefined;
  api_key_id?: string | undefined;
}

/** A selection of runs, with the digest of its values. */
export interface Selected {
  selection: Selection;
  digest: Buffer;
}

/** Selects the runs named by a client. `user`: the client may stop runs of this user alone; null for all. */
export function selectNamed(tenantId: string, named: NamedRuns, user: string | null): Selected | null {
  const { session_id: sessionId, user_id: userId, agent_id: agentId, api_key_id: apiKeyId } = named;
  if (userId !== undefined) return selected('user', { ...noValues, tenantId, userId });
  const subject = { ...noValues, tenantId, userId: user };
  if (sessionId !== undefined)
    return selected(user === null ? 'session' : 'session_of_user', { ...subject, sessionId });
  if (agentId !== undefined)
    return selected(user === null ? 'agent' : 'agent_of_user', { ...subject, agentId });
  if (apiKeyId !== undefined)
    return selected(user === null ? 'api_key' : 'api_key_of_user', { ...subject, apiKeyId });
  return null;
}

/** Selects the session of a run, which is one of its user or, without a user, of its key; null without a session. */
export function selectSessionOf(run: RunSubject): Selected | null {
  if (run.userId !== null) return selected('session_of_user', run);
  return selected(run.apiKeyId === null ? 'session' : 'session_of_key', run);
}

const noValues = { sessionId: null, userId: null, agentId: null, apiKeyId: null };

function selected(selection: Selection, subject: RunSubject): Selected | null {
  const digest = digestBy(selection, subject);
  return digest === null ? null : { selection, digest };
}
