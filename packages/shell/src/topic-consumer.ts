import { publishersOf, sendersTo, type ServiceName, type Topic } from '@gatehouse/contract/services';
import { ReceivedObject, type TakeEvents } from '@gatehouse/events/dead-letters';
import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { EventObject } from '@gatehouse/events/sink';
import { rpcService, type Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { EventsServiceService, type TakeRequest, type TakeResponse } from '@gatehouse/proto/events/v1/events';
import type { Shell } from './shell.ts';

export interface ConsumedTopicOptions {
  topic: Topic;
  config: Parameters<typeof kafkaPlace>[0];
  take: TakeEvents;
  /** The end of the name of the consumer group: each topic of a service has a group of its own. Default: empty. */
  group?: string;
}

/** Takes the events of a topic: from Kafka where there is one, and from the services publishing it without Kafka. */
export function consumeTopic(shell: Shell, { topic, config, take, group = '' }: ConsumedTopicOptions): void {
  const { log, registry, name, takers } = shell;
  if (takers.size === 0) shell.serve(rpcService(EventsServiceService, { take: takeEvents(name, takers) }));
  takers.set(topic, take);
  const kafka = kafkaPlace(config, topic);
  if (kafka === null) return;
  const groupId = `${kafka.prefix}gatehouse-${name}${group}`;
  shell.add(new KafkaConsumer({ ...kafka, groupId, handle: take, log, registry }));
}

function takeEvents(
  name: ServiceName,
  takers: ReadonlyMap<string, TakeEvents>,
): Rpc<TakeRequest, TakeResponse> {
  return {
    callers: sendersTo(name),
    handle: async ({ topic, source, events, fresh }, { caller, isLocal }) => {
      const take = takers.get(topic);
      const publishers: readonly string[] = publishersOf(topic as Topic, name);
      if (take === undefined)
        throw new AppError('invalid_value', 'This service takes other events.', { param: 'topic' });
      if (!publishers.includes(caller)) throw callerNotAllowed(caller);
      // As `eventSink` sends them; a message over a connection has texts alone.
      const sent = events as readonly (string | EventObject)[];
      await take(
        sent.map((event) =>
          typeof event === 'string'
            ? { origin: source, payload: Buffer.from(event), isChecked: fresh && isLocal }
            : new ReceivedObject(source, event),
        ),
        caller,
      );
      return {};
    },
  };
}

/** Throws `caller_not_allowed` for another caller than `sender`. Events from Kafka have no caller. */
export function checkCaller(caller: string | undefined, sender: string): void {
  if (caller !== undefined && caller !== sender) throw callerNotAllowed(caller);
}

function callerNotAllowed(caller: string): AppError {
  return new AppError('caller_not_allowed', `The ${caller} service is not allowed to send these events.`);
}

/** Failures after which an outage is more likely than bad events. */
const mostFailures = 4;

/**
 * Handles events in order, those after a failed one too, so a failure delays no other event of its batch. Throws the
 * first failure at the end, and at once after four.
 */
export async function handleEach<Event>(
  events: readonly Event[],
  handle: (event: Event) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const event of events) {
    await handle(event).catch((error: unknown) => failures.push(error));
    if (failures.length === mostFailures) break;
  }
  if (failures.length > 0) throw failures[0];
}
