import { addresses } from '@gatehouse/kit/config';
import { z } from 'zod';

export const kafkaSettings = {
  /** If unset, events are sent directly to the consuming service over gRPC. */
  KAFKA_BROKERS: addresses.optional(),
  /** Prefix of topic and group names, for a shared Kafka cluster. */
  KAFKA_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,64}$/, 'must be at most 64 letters, digits, ".", "_" and "-"')
    .default(''),
};

/** The brokers, and the full name of a topic. */
export interface KafkaPlace {
  brokers: readonly string[];
  topic: string;
  prefix: string;
}

/** Returns null without Kafka. `topic` is the name without prefix. */
export function kafkaPlace(
  config: { KAFKA_BROKERS?: readonly string[] | undefined; KAFKA_PREFIX: string },
  topic: string,
): KafkaPlace | null {
  const { KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix } = config;
  return brokers === undefined ? null : { brokers, prefix, topic: `${prefix}${topic}` };
}
