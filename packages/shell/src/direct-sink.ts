import type { ServiceName, Topic } from '@gatehouse/contract/services';
import { DirectSink } from '@gatehouse/events/direct-sink';
import type { EventSink } from '@gatehouse/events/sink';
import { isMessageTooLarge } from '@gatehouse/grpc/errors';
import { EventsServiceClient } from '@gatehouse/proto/events/v1/events';
import type { Shell } from './shell.ts';

export interface DirectConsumer {
  /** The `source` of the events. */
  source: string;
  topic: Topic;
  /** Addresses of the service consuming the topic. */
  consumer: readonly string[];
  consumerName: ServiceName;
}

/**
 * Sends events to their consumer over gRPC, or within this process. `passesObjects`: whether a consumer in this process
 * gets events as objects where they have one.
 */
export function directSink(
  shell: Shell,
  { source, topic, consumer, consumerName }: DirectConsumer,
  { passesObjects = false } = {},
): EventSink {
  const takesObjects = passesObjects && shell.neighbours?.find(consumerName) !== undefined;
  const peer = shell.peer(consumerName, consumer, EventsServiceClient, { passesObjects: takesObjects });
  return new DirectSink({
    // Objects reach `consumeTopic` of this process alone, which knows them.
    send: (events, { deadlineMs, isFresh: fresh }) =>
      peer.call('take', { topic, source, events: events as string[], fresh }, { deadlineMs }),
    isTooLarge: isMessageTooLarge,
    takesObjects,
  });
}
