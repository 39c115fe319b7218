import { randomUUID } from 'node:crypto';
import { ApiError, UnreachableError, type ApiClient } from '../api-client.ts';
import { UsageError } from '../usage-error.ts';
import { createOnce, fetchSecrets } from './creations.ts';
import type { Declared } from './declared.ts';
import type { Members } from './members.ts';
import type { Step } from './plan.ts';
import type { Present } from './present.ts';
import { DeclarationError, problemOf, subjectOf } from './problem.ts';
import { idsOf, withIds, type Ids } from './references.ts';
import type { SecretsFile } from './secrets-file.ts';
import { requestOfStep } from './step-request.ts';

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
 * `DeclarationError` for a step refused by the gateway, and at the end for lost secrets.
 */
export async function carryOut(
  client: ApiClient,
  steps: readonly Step[],
  { declared, present, secrets, signal, onDone }: CarryingOut,
): Promise<void> {
  const ids = idsOf(present);
  const lost = secrets === undefined ? [] : await fetchSecrets(client, secrets, { declared, present, ids });
  const done: Step[] = [];
  for (const step of steps) {
    signal.throwIfAborted();
    const sent =
      secrets !== undefined && hasNewSecrets(step)
        ? createOnce(client, secrets, step, withIds(step.members, ids))
        : send(client, step, ids);
    const made = await sent.catch((error: unknown) => failed(step, error, done));
    const { kind, identity } = step;
    if ((kind.name === 'agents' || kind.name === 'channels') && made !== undefined)
      ids[kind.name].set(identity, String(made['id']));
    done.push(step);
    onDone(step);
  }
  if (lost.length > 0) throw new DeclarationError(lost, changesText('Changed', done));
}

/** Throws the error with the place and the name of its declaration, and with what was changed before. */
function failed(step: Step, error: unknown, done: readonly Step[]): never {
  // A lost connection, or an error of the gateway in the middle.
  const isUnknown = !(error instanceof ApiError) || error.status >= 500;
  const outcome = [
    ...(isUnknown && done.length === 0 ? [] : [changesText('Changed before it', done)]),
    ...(isUnknown ? ['It is not known whether this change was made.'] : []),
    ...(isUnknown || done.length > 0 ? ['The next apply does what is left.'] : []),
  ].join(' ');
  if (error instanceof UnreachableError)
    throw new UnreachableError(`${subjectOf(step)}: ${error.message}\n${outcome}`, { cause: error });
  if (!(error instanceof ApiError)) throw error;
  throw new DeclarationError([problemOf(step, error)], outcome);
}

function changesText(title: string, done: readonly Step[]): string {
  const names = done.map(({ action, kind, shownName }) => `${action}d ${kind.name} ${shownName}`);
  return names.length === 0 ? 'Nothing was changed.' : `${title}: ${names.join(', ')}.`;
}

async function send(client: ApiClient, step: Step, ids: Ids): Promise<Members | undefined> {
  const request = requestOfStep(step, withIds(step.members, ids));
  return client.json({
    ...request,
    ...(request.method === 'POST' && { idempotencyKey: randomUUID() }),
    isRepeatable: request.method === 'PUT',
  });
}
