import { randomUUID } from 'node:crypto';
import { ApiError, UnreachableError, type ApiClient } from '../api-client.ts';
import { UsageError } from '../usage-error.ts';
import type { Declared, Members } from './declared.ts';
import { kinds } from './kinds.ts';
import type { Present, Step } from './plan.ts';
import { DeclarationError, problemOf, subjectOf } from './problem.ts';
import { agentIds, withAgentId, type AgentIds } from './references.ts';
import type { SecretsFile } from './secrets-file.ts';

export interface CarryingOut {
  declared: Declared;
  present: Present;
  secrets: SecretsFile | undefined;
  signal: AbortSignal;
  onDone: (step: Step) => void;
}

/** Throws for steps with new secrets, without a file for those. */
export function assertSecretsFile(steps: readonly Step[], secrets: SecretsFile | undefined): void {
  const names = steps.filter(hasNewSecrets).map(({ kind }) => kind.name);
  if (names.length > 0 && secrets === undefined)
    throw new UsageError(
      `The secrets of new ${[...new Set(names)].join(', ')} are shown once: give --secrets-file FILE to keep them.`,
    );
}

function hasNewSecrets({ action, kind }: Step): boolean {
  return action === 'create' && kind.secrets.length > 0;
}

/**
 * Carries out steps one after the other. Interrupted in the middle, the next run does what is left. Throws
 * `DeclarationError` for a step refused by the gateway.
 */
export async function carryOut(
  client: ApiClient,
  steps: readonly Step[],
  { declared, present, secrets, signal, onDone }: CarryingOut,
): Promise<void> {
  const agents = agentIds(present);
  if (secrets !== undefined) await repeatPending(client, secrets, { declared, agents });
  for (const [done, step] of steps.entries()) {
    signal.throwIfAborted();
    const sent =
      secrets !== undefined && hasNewSecrets(step)
        ? createOnce(client, secrets, { step, agents })
        : send(client, step, agents);
    const made = await sent.catch((error: unknown) => failed(step, error, done));
    if (step.kind.name === 'agents' && made !== undefined) agents.set(step.identity, String(made['id']));
    onDone(step);
  }
}

/** Throws the error with the place and the name of its declaration. */
function failed(step: Step, error: unknown, done: number): never {
  if (error instanceof UnreachableError)
    throw new UnreachableError(`${subjectOf(step)}: ${error.message}`, { cause: error });
  if (!(error instanceof ApiError)) throw error;
  const outcome =
    done === 0
      ? 'Nothing was changed.'
      : `Changes made before it: ${done}. The next apply does what is left.`;
  throw new DeclarationError([problemOf(step, error)], outcome);
}

/** Asks again for the secrets of things made by an earlier run, where they did not come back. */
async function repeatPending(
  client: ApiClient,
  secrets: SecretsFile,
  { declared, agents }: { declared: Declared; agents: AgentIds },
): Promise<void> {
  for (const creation of await secrets.pending()) {
    const kind = kinds.find(({ name }) => name === creation.kind);
    const declaration =
      kind && declared.get(kind)?.find(({ members }) => members[kind.identity] === creation.name);
    if (kind === undefined || declaration === undefined) continue;
    const json = withAgentId(declaration.members, agents);
    const { idempotencyKey } = creation;
    const made = await client.json<Members>({ method: 'POST', path: kind.path, json, idempotencyKey });
    await secrets.keep(creation, made, kind.secrets);
  }
}

async function createOnce(
  client: ApiClient,
  secrets: SecretsFile,
  { step, agents }: { step: Step; agents: AgentIds },
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
  agents: AgentIds,
): Promise<Members | undefined> {
  const item = `${kind.path}/${encodeURIComponent(id)}`;
  if (action === 'delete') return client.json({ method: 'DELETE', path: item });
  const json = withAgentId(members, agents);
  if (action === 'update') return client.json({ method: 'PATCH', path: item, json });
  return client.json({ method: 'POST', path: kind.path, json, idempotencyKey: randomUUID() });
}
