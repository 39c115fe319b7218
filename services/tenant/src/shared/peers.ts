import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { TransferParticipantServiceClient } from '@gatehouse/proto/transfer/v1/transfer';
import { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import type { Shell } from '@gatehouse/service/shell';
import type { TenantConfig } from '../config.ts';

/** The services that this one calls. */
export function createPeers(shell: Shell, config: TenantConfig) {
  return {
    memory: shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient),
    agent: shell.peer('agent', config.AGENT_GRPC, AgentServiceClient),
    webhook: shell.peer('webhook', config.WEBHOOK_GRPC, WebhookServiceClient),
    analytics: shell.peer('analytics', config.ANALYTICS_GRPC, AnalyticsServiceClient),
    chat: shell.peer('chat', config.CHAT_GRPC, ChatServiceClient),
    participants: {
      agent: shell.peer('agent', config.AGENT_GRPC, TransferParticipantServiceClient),
      memory: shell.peer('memory', config.MEMORY_GRPC, TransferParticipantServiceClient),
      webhook: shell.peer('webhook', config.WEBHOOK_GRPC, TransferParticipantServiceClient),
    },
  };
}
