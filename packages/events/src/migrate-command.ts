import { parseConfig } from '@gatehouse/kit/config';
import { createLogger } from '@gatehouse/kit/log';
import { z } from 'zod';
import { kafkaPlace, kafkaSettings } from './settings.ts';
import { createTopic } from './topics.ts';

/** The part of the migration step to create the topic of a service. Does nothing without Kafka. */
export async function migrateTopic(
  service: string,
  topic: string,
  environment: Record<string, string | undefined>,
): Promise<void> {
  const kafka = kafkaPlace(parseConfig(z.object(kafkaSettings), environment), topic);
  if (kafka !== null) await createTopic(kafka, createLogger(service, 'warn'));
}
