import type { Alert as RaisedEvent } from '@gatehouse/events/alert-event';
import type { EventIntake } from '@gatehouse/events/intake';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { NotifyRequest, NotifyResponse } from '@gatehouse/proto/webhook/v1/webhook';

/** Takes events of services that publish without Kafka. */
export function notify(intake: EventIntake<RaisedEvent>): Rpc<NotifyRequest, NotifyResponse> {
  return {
    callers: ['agent', 'chat', 'tenant'],
    handle: async ({ source, events }) => {
      await intake.take(events.map((text) => ({ origin: source, payload: Buffer.from(text) })));
      return {};
    },
  };
}
