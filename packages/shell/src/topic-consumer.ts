import { publishersOf, type Topic } from '@gatehouse/contract/services';
import type { Received } from '@gatehouse/events/dead-letters';
import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { kafkaPlace } from '@gatehouse/events/settings';
import { rpcService, type Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { EventsServiceService, type TakeRequest, type TakeResponse } from '@gatehouse/proto/events/v1/events';
import type { Shell } from './shell.ts';

export interface ConsumedTopicOptions {
  topic: Topic;
  config: Parameters<typeof kafkaPlace>[0];
  /** Resolves once all events are durable; must take an event again without harm. Throws during an outage. */
  take: (events: readonly Received[]) => Promise<void>;
}

/** Takes the events of a topic: from Kafka where there is one, and from the services that publish it without Kafka. */
export function consumeTopic(shell: Shell, { topic, config, take }: ConsumedTopicOptions): void {
  shell.serve(rpcService(EventsServiceService, { take: takeEvents(topic, take) }));
  const kafka = kafkaPlace(config, topic);
  if (kafka === null) return;
  const { log, registry, name } = shell;
  const groupId = `${kafka.prefix}gatehouse-${name}`;
  const { brokers, topic: kafkaTopic } = kafka;
  shell.add(new KafkaConsumer({ groupId, brokers, topic: kafkaTopic, handle: take, log, registry }));
}

function takeEvents(topic: Topic, take: ConsumedTopicOptions['take']): Rpc<TakeRequest, TakeResponse> {
  return {
    callers: publishersOf(topic),
    handle: async ({ topic: requested, source, events }) => {
      if (requested !== topic)
        throw new AppError('invalid_value', 'This service takes other events.', { param: 'topic' });
      await take(events.map((text) => ({ origin: source, payload: Buffer.from(text) })));
      return {};
    },
  };
}
