import { newId } from '@gatehouse/kit/ids';
import { z } from 'zod';
import { parseShape, readEvent, writeEvent } from './cloud-event.ts';

/**
 * Events about deletions: tenant requests the deletion of the data of a user (`gatehouse.deletions.v1`), each service
 * with data of users answers with receipts (`gatehouse.receipts.v1`), and agent reports deleted agents to memory.
 */

const userDeletionRequested = 'gatehouse.user_deletion.requested';
const userDeletionProgressed = 'gatehouse.user_deletion.progressed';
const agentDeleted = 'gatehouse.agent.deleted';

const counts = z.record(z.string().max(64), z.number().int().nonnegative());

const requested = z.object({
  deletion_id: z.uuid(),
  tenant_id: z.uuid(),
  /** The service to remove the data: each one gets an event of its own. */
  service: z.string().max(64),
  user_id: z.string().min(1),
  /** Milliseconds since the epoch: older data of the user are removed. */
  requested_at_ms: z.number().int().nonnegative(),
  /** Numbers of rows the service has removed before, by kind. */
  counts,
});

const progressed = requested.omit({ user_id: true }).extend({
  /** False when more is to be removed. */
  completed: z.boolean(),
});

const deletedAgent = z.object({ tenant_id: z.uuid(), agent_id: z.uuid() });

/** A request to one service to delete the data of a user. Its repeats have the same `deletion_id`. */
export type UserDeletionEvent = z.output<typeof requested>;
/** The receipt of a service: everything removed by it so far. The last receipt of a deletion counts. */
export type DeletionReceipt = z.output<typeof progressed>;
/** A deleted agent. */
export type DeletedAgentEvent = z.output<typeof deletedAgent>;

interface UserDeletionRequested {
  type: 'user';
  deletion: UserDeletionEvent;
}
interface AgentDeleted {
  type: 'agent';
  agent: DeletedAgentEvent;
}
export type DeletionEvent = UserDeletionRequested | AgentDeleted;

export function writeUserDeletion(source: string, data: UserDeletionEvent): string {
  return write(source, { type: userDeletionRequested, subject: data.deletion_id, data });
}

export function writeDeletionReceipt(source: string, data: DeletionReceipt): string {
  return write(source, { type: userDeletionProgressed, subject: data.deletion_id, data });
}

export function writeDeletedAgent(source: string, data: DeletedAgentEvent): string {
  return write(source, { type: agentDeleted, subject: data.agent_id, data });
}

/** Returns null for an event of another type. Throws with the reason when the event is invalid. */
export function readDeletionEvent(text: string): DeletionEvent | null {
  const { type, data } = readEvent(text);
  if (type === userDeletionRequested)
    return { type: 'user', deletion: parseShape(requested, data, 'not a deletion') };
  if (type === agentDeleted)
    return { type: 'agent', agent: parseShape(deletedAgent, data, 'not a deleted agent') };
  return null;
}

/** Returns null for an event of another type. Throws with the reason when the event is invalid. */
export function readDeletionReceipt(text: string): DeletionReceipt | null {
  const { type, data } = readEvent(text);
  return type === userDeletionProgressed ? parseShape(progressed, data, 'not a receipt') : null;
}

function write(
  source: string,
  { type, subject, data }: { type: string; subject: string; data: { tenant_id: string } },
): string {
  const time = new Date().toISOString();
  return writeEvent({ id: newId(), source, type, time, subject, partitionkey: data.tenant_id, data });
}
