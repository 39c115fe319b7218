import { randomUUID } from 'node:crypto';
import { ApiError, type ApiClient } from '../api-client.ts';
import { UsageError } from '../usage-error.ts';
import type { Declared, Members } from './declared.ts';
import { kinds } from './kinds.ts';
import type { Present, Step } from './plan.ts';
import type { SecretsFile } from './secrets-file.ts';

export interface CarryingOut {
  declared: Declared;
  present: Present;
  secrets: SecretsFile | undefined;
  signal: AbortSignal;
  onDone: (step: Step) => void;
}

/** Carries out steps one after the other. Interrupted in the middle, the next run does what is left. */
export async function carryOut(
  client: ApiClient,
  steps: readonly Step[],
  { declared, present, secrets, signal, onDone }: CarryingOut,
): Promise<void> {
  const withSecrets = steps.filter(({ action, kind }) => action === 'create' && kind.secrets.length > 0);
  if (withSecrets.length > 0 && secrets === undefined)
    throw new UsageError(
      `The secrets of new ${[...new Set(withSecrets.map(({ kind }) => kind.name))].join(', ')} are shown once: give --secrets-file FILE to keep them.`,
    );
  const agents = agentIds(present);
  if (secrets !== undefined) await repeatPending(client, secrets, { declared, agents });
  for (const step of steps) {
    signal.throwIfAborted();
    const made =
      secrets !== undefined && withSecrets.includes(step)
        ? await createOnce(client, secrets, { step, agents })
        : await send(client, step, agents);
    if (step.kind.name === 'agents' && made !== undefined) agents.set(step.identity, String(made['id']));
    onDone(step);
  }
}

/** Asks again for the secrets of things made by an earlier run, where they did not come back. */
async function repeatPending(
  client: ApiClient,
  secrets: SecretsFile,
  { declared, agents }: { declared: Declared; agents: ReadonlyMap<string, string> },
): Promise<void> {
  for (const creation of await secrets.pending()) {
    const kind = kinds.find(({ name }) => name === creation.kind);
    const thing = kind && declared.get(kind)?.find((each) => each[kind.identity] === creation.name);
    if (kind === undefined || thing === undefined) continue;
    const json = withAgentId(thing, agents);
    const { idempotencyKey } = creation;
    const made = await client.json<Members>({ method: 'POST', path: kind.path, json, idempotencyKey });
    await secrets.keep(creation, made, kind.secrets);
  }
}

async function createOnce(
  client: ApiClient,
  secrets: SecretsFile,
  { step, agents }: { step: Step; agents: ReadonlyMap<string, string> },
): Promise<Members> {
  const { kind, identity, members } = step;
  const creation = { kind: kind.name, name: identity, idempotencyKey: randomUUID() };
  const json = withAgentId(members, agents);
  await secrets.begin(creation);
  const { idempotencyKey } = creation;
  try {
    const made = await client.json<Members>({ method: 'POST', path: kind.path, json, idempotencyKey });
    await secrets.keep(creation, made, kind.secrets);
    return made;
  } catch (error) {
    if (madeNothing(error)) await secrets.giveUp(creation);
    throw error;
  }
}

/** Whether a creation was refused, rather than lost or repeated: the next one may have other members. */
function madeNothing(error: unknown): boolean {
  return error instanceof ApiError && [400, 401, 403, 404, 422].includes(error.status);
}

async function send(
  client: ApiClient,
  { action, kind, id = '', members }: Step,
  agents: ReadonlyMap<string, string>,
): Promise<Members | undefined> {
  const item = `${kind.path}/${encodeURIComponent(id)}`;
  if (action === 'delete') return client.json({ method: 'DELETE', path: item });
  const json = withAgentId(members, agents);
  if (action === 'update') return client.json({ method: 'PATCH', path: item, json });
  return client.json({ method: 'POST', path: kind.path, json, idempotencyKey: randomUUID() });
}

function withAgentId(members: Members, agents: ReadonlyMap<string, string>): Members {
  const { agent, ...others } = members;
  if (agent === undefined) return others;
  const key = typeof agent === 'string' ? agent : '';
  const id = agents.get(key);
  if (id === undefined) throw new UsageError(`There is no agent "${key}", and none is declared.`);
  return { ...others, agent_id: id };
}

function agentIds(present: Present): Map<string, string> {
  const agents = kinds.find(({ name }) => name === 'agents');
  const agentsByName = agents === undefined ? undefined : present.get(agents);
  return new Map([...(agentsByName ?? [])].map(([key, { id }]) => [key, String(id)]));
}
