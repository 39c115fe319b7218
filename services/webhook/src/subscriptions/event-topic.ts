import { alertTopic, type Alert as RaisedEvent } from '@gatehouse/events/alert-event';
import type { EventIntake } from '@gatehouse/events/intake';
import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { Shell } from '@gatehouse/service/shell';

/** With Kafka: takes the events of all services. */
export function consumeEvents(
  shell: Shell,
  kafka: Parameters<typeof kafkaPlace>[0],
  intake: EventIntake<RaisedEvent>,
): void {
  const place = kafkaPlace(kafka, alertTopic);
  if (place === null) return;
  const { brokers, topic, prefix } = place;
  const { log, registry } = shell;
  const groupId = `${prefix}gatehouse-webhook`;
  const handle = (messages: Parameters<typeof intake.take>[0]): Promise<void> => intake.take(messages);
  shell.add(new KafkaConsumer({ groupId, brokers, topic, handle, log, registry }));
}
