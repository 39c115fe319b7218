import { auditTopic } from '@gatehouse/events/audit-event';
import { usageTopic } from '@gatehouse/events/run-event';
import { kafkaPlace } from '@gatehouse/events/settings';
import { createTopic } from '@gatehouse/events/topics';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { kafkaBrokers } from './kafka.ts';

export interface Topics {
  KAFKA_BROKERS: string;
  KAFKA_PREFIX: string;
}

/** The settings of services that find all topics there, under a prefix of their own, as the migration step makes them. */
export async function makeTopics(): Promise<Topics> {
  const brokers = await kafkaBrokers();
  const prefix = `${newId()}.`;
  for (const topic of [usageTopic, auditTopic]) {
    const place = kafkaPlace({ KAFKA_BROKERS: [brokers], KAFKA_PREFIX: prefix }, topic);
    if (place !== null) await createTopic(place, createLogger('test', 'silent'));
  }
  return { KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix };
}
