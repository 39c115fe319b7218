import type { ServiceName } from '@gatehouse/contract/services';
import type { Service } from '@gatehouse/shell/service';
import type { ShellOverrides } from '@gatehouse/shell/shell';
import type { Environment } from './environment.ts';

/** Creates a service from its settings; nothing is opened. */
export type CreateService = (environment: Environment, overrides: ShellOverrides) => Promise<Service>;

/** How each service is created. The code of a service is loaded when it is first asked for. */
export const creators: Readonly<Record<ServiceName, CreateService>> = {
  async tenant(environment, overrides) {
    const { loadConfig } = await import('@gatehouse/service-tenant/config');
    const { createTenantService } = await import('@gatehouse/service-tenant/service');
    return createTenantService(loadConfig(environment), overrides);
  },
  async agent(environment, overrides) {
    const { loadConfig } = await import('@gatehouse/service-agent/config');
    const { createAgentService } = await import('@gatehouse/service-agent/service');
    return createAgentService(loadConfig(environment), overrides);
  },
  async analytics(environment, overrides) {
    const { loadConfig } = await import('@gatehouse/service-analytics/config');
    const { createAnalyticsService } = await import('@gatehouse/service-analytics/service');
    return createAnalyticsService(loadConfig(environment), overrides);
  },
  async memory(environment, overrides) {
    const { loadConfig } = await import('@gatehouse/service-memory/config');
    const { createMemoryService } = await import('@gatehouse/service-memory/service');
    return createMemoryService(loadConfig(environment), overrides);
  },
  async chat(environment, overrides) {
    const { loadConfig } = await import('@gatehouse/service-chat/config');
    const { createChatService } = await import('@gatehouse/service-chat/service');
    return createChatService(await loadConfig(environment), overrides);
  },
  async webhook(environment, overrides) {
    const { loadConfig } = await import('@gatehouse/service-webhook/config');
    const { createWebhookService } = await import('@gatehouse/service-webhook/service');
    return createWebhookService(loadConfig(environment), overrides);
  },
  async edge(environment, overrides) {
    const { loadConfig } = await import('@gatehouse/service-edge/config');
    const { createEdgeService } = await import('@gatehouse/service-edge/service');
    return createEdgeService(loadConfig(environment), overrides);
  },
};
