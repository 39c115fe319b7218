import type { ServiceName } from '@gatehouse/contract/services';
import type { Service } from '@gatehouse/shell/service';
import type { ShellOverrides } from '@gatehouse/shell/shell';
import type { Environment } from './environment.ts';

/** Creates a service from its settings; nothing is opened. */
export type CreateService = (environment: Environment, overrides: ShellOverrides) => Promise<Service>;

/** How each service is created. The code of a service is loaded when it is first asked for. */
export const creators: Readonly<Record<ServiceName, CreateService>> = {
  tenant: creator(
    () => import('@gatehouse/service-tenant/config'),
    () => import('@gatehouse/service-tenant/service'),
  ),
  agent: creator(
    () => import('@gatehouse/service-agent/config'),
    () => import('@gatehouse/service-agent/service'),
  ),
  analytics: creator(
    () => import('@gatehouse/service-analytics/config'),
    () => import('@gatehouse/service-analytics/service'),
  ),
  memory: creator(
    () => import('@gatehouse/service-memory/config'),
    () => import('@gatehouse/service-memory/service'),
  ),
  chat: creator(
    () => import('@gatehouse/service-chat/config'),
    () => import('@gatehouse/service-chat/service'),
  ),
  webhook: creator(
    () => import('@gatehouse/service-webhook/config'),
    () => import('@gatehouse/service-webhook/service'),
  ),
  edge: creator(
    () => import('@gatehouse/service-edge/config'),
    () => import('@gatehouse/service-edge/service'),
  ),
};

function creator<Config>(
  importConfig: () => Promise<{ loadConfig: (environment: Environment) => Config | Promise<Config> }>,
  importService: () => Promise<{
    createService: (config: Config, overrides: ShellOverrides) => Promise<Service>;
  }>,
): CreateService {
  return async (environment, overrides) => {
    const { loadConfig } = await importConfig();
    const { createService } = await importService();
    return createService(await loadConfig(environment), overrides);
  };
}
