import { parseConfig } from '@gatehouse/kit/config';
import { createLogger } from '@gatehouse/kit/log';
import { z } from 'zod';
import { kafkaPlace, kafkaSettings } from './settings.ts';
import { createTopics } from './topics.ts';

/** The part of a service's migration step that makes its topics, where there is Kafka. */
export async function migrateTopics(
  service: string,
  environment: Record<string, string | undefined>,
): Promise<void> {
  const kafka = kafkaPlace(parseConfig(z.object(kafkaSettings), environment));
  if (kafka !== null) await createTopics(kafka, createLogger(service, 'warn'));
}
