import { addresses } from '@gatehouse/kit/config';
import { z } from 'zod';

export const kafkaSettings = {
  /** Without brokers, events go straight to the service that takes them in, over gRPC. */
  KAFKA_BROKERS: addresses.optional(),
  /** Before the names of topics and groups, for a Kafka that others use too. */
  KAFKA_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,64}$/, 'must be letters, digits, ".", "_" and "-"')
    .default(''),
};

/** Where Kafka is and what a topic is called there. */
export interface KafkaPlace {
  brokers: readonly string[];
  topic: string;
  prefix: string;
}

/** Null without Kafka. `topic` is its name without the operator's prefix. */
export function kafkaPlace(
  config: { KAFKA_BROKERS?: readonly string[] | undefined; KAFKA_PREFIX: string },
  topic: string,
): KafkaPlace | null {
  const { KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix } = config;
  return brokers === undefined ? null : { brokers, prefix, topic: `${prefix}${topic}` };
}
