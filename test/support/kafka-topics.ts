import { topics } from '@gatehouse/contract/services';
import { kafkaPlace } from '@gatehouse/events/settings';
import { createTopic } from '@gatehouse/events/topics';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { kafkaBrokers } from './kafka.ts';

export interface Topics {
  KAFKA_BROKERS: string;
  KAFKA_PREFIX: string;
}

/** Creates all topics with a new prefix, as the migration step does, and returns the settings with that prefix. */
export async function makeTopics(): Promise<Topics> {
  const brokers = await kafkaBrokers();
  const prefix = `${newId()}.`;
  for (const topic of Object.values(topics)) {
    const place = kafkaPlace({ KAFKA_BROKERS: [brokers], KAFKA_PREFIX: prefix }, topic);
    if (place !== null) await createTopic(place, createLogger('test', 'silent'));
  }
  return { KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix };
}
