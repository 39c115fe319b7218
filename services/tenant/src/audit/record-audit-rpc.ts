import type { AuditEntry } from '@gatehouse/contract/audit';
import type { EventIntake } from '@gatehouse/events/intake';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { RecordAuditRequest, RecordAuditResponse } from '@gatehouse/proto/tenant/v1/tenant';

/** Stores changes of services that publish without Kafka. */
export function recordAudit(intake: EventIntake<AuditEntry>): Rpc<RecordAuditRequest, RecordAuditResponse> {
  return {
    callers: ['agent', 'memory', 'webhook'],
    handle: async ({ source, events }) => {
      await intake.take(events.map((text) => ({ origin: source, payload: Buffer.from(text) })));
      return {};
    },
  };
}
