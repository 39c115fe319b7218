import { topics } from '@gatehouse/contract/services';
import type { Received } from '@gatehouse/events/dead-letters';
import {
  readDeletionReceipt,
  writeUserDeletion,
  type DeletionReceipt,
} from '@gatehouse/events/deletion-event';
import { checkCaller, consumeTopic, handleEach } from '@gatehouse/shell/topic-consumer';
import { eventSender, type SendEvent } from '@gatehouse/shell/outbox-publisher';
import type { Shell } from '@gatehouse/shell/shell';
import type { TenantConfig } from '../config.ts';
import { participants, type Participant, type SendDeletion } from './deletion-tasks.ts';

const source = 'gatehouse/tenant/deletions';

/** Publishes deletions: to Kafka, or without Kafka directly to the service of each. */
export function deletionSender(shell: Shell, config: TenantConfig): SendDeletion {
  const addresses: Record<Participant, readonly string[]> = {
    memory: config.MEMORY_GRPC,
    analytics: config.ANALYTICS_GRPC,
    chat: config.CHAT_GRPC,
    webhook: config.WEBHOOK_GRPC,
    agent: config.AGENT_GRPC,
  };
  const senderTo = (service: Participant): SendEvent =>
    eventSender(shell, {
      ...{ config, source, topic: topics.deletions },
      ...{ consumer: addresses[service], consumerName: service },
    });
  const kafka = config.KAFKA_BROKERS === undefined ? null : senderTo(participants[0]);
  const senders = new Map(participants.map((service) => [service, kafka ?? senderTo(service)]));
  return async (deletion) => {
    await senders.get(deletion.service)?.(deletion.tenant_id, writeUserDeletion(source, deletion));
  };
}

/**
 * Takes the receipts of all services. An unreadable one is skipped: the deletion is published again until its receipt has
 * come.
 */
export function takeReceipts(
  shell: Shell,
  config: TenantConfig,
  record: (receipt: DeletionReceipt) => Promise<void>,
): void {
  const { log } = shell;
  const readOrSkip = ({ origin, payload }: Received): DeletionReceipt | null => {
    try {
      return readDeletionReceipt(payload.toString('utf8'));
    } catch (error) {
      log.error({ origin, err: error }, 'failed to read a receipt of a deletion; skipped it');
      return null;
    }
  };
  consumeTopic(shell, {
    ...{ topic: topics.receipts, config, group: '-receipts' },
    take: (events, caller) =>
      handleEach(events, async (event) => {
        const receipt = readOrSkip(event);
        if (receipt === null) return;
        checkCaller(caller, receipt.service);
        await record(receipt);
      }),
  });
}
