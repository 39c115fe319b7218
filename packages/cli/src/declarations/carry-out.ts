import { appendFile, chmod } from 'node:fs/promises';
import type { ApiClient } from '../api-client.ts';
import { UsageError } from '../usage-error.ts';
import type { Members } from './declared.ts';
import { kinds } from './kinds.ts';
import type { Present, Step } from './plan.ts';

/** Carries out steps one after the other. Interrupted in the middle, the next run does what is left. */
export async function carryOut(
  client: ApiClient,
  steps: readonly Step[],
  { present, secretsFile, onDone }: { present: Present; secretsFile?: string; onDone: (step: Step) => void },
): Promise<void> {
  const shownOnce = steps.filter(({ action, kind }) => action === 'create' && kind.secrets.length > 0);
  if (shownOnce.length > 0) {
    if (secretsFile === undefined)
      throw new UsageError(
        `The secrets of new ${[...new Set(shownOnce.map(({ kind }) => kind.name))].join(', ')} are shown once: give --secrets-file FILE to keep them.`,
      );
    // Before anything is made whose secret could not be kept.
    await appendFile(secretsFile, '', { mode: 0o600 });
    await chmod(secretsFile, 0o600);
  }
  const agents = agentIds(present);
  for (const step of steps) {
    const made = await send(client, step, agents);
    if (step.kind.name === 'agents' && made !== undefined) agents.set(step.identity, String(made['id']));
    if (step.action === 'create' && secretsFile !== undefined)
      await keepSecrets(secretsFile, step, made ?? {});
    onDone(step);
  }
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
  return client.json({ method: 'POST', path: kind.path, json, idempotencyKey: true });
}

function withAgentId(members: Members, agents: ReadonlyMap<string, string>): Members {
  const { agent, ...others } = members;
  if (agent === undefined) return others;
  const key = typeof agent === 'string' ? agent : '';
  const id = agents.get(key);
  if (id === undefined) throw new UsageError(`There is no agent "${key}", and none is declared.`);
  return { ...others, agent_id: id };
}

/** A line of JSON each. */
async function keepSecrets(file: string, { kind, identity }: Step, made: Members): Promise<void> {
  const shown = kind.secrets.filter((name) => made[name] !== undefined && made[name] !== null);
  if (shown.length === 0) return;
  const secrets = Object.fromEntries(shown.map((name) => [name, made[name]]));
  const line = { kind: kind.name, [kind.identity]: identity, id: made['id'], ...secrets };
  await appendFile(file, `${JSON.stringify(line)}\n`);
}

function agentIds(present: Present): Map<string, string> {
  const agents = kinds.find(({ name }) => name === 'agents');
  const found = agents === undefined ? undefined : present.get(agents);
  return new Map([...(found ?? [])].map(([key, { id }]) => [key, String(id)]));
}
