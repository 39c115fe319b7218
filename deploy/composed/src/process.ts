import { services, type ServiceName } from '@gatehouse/contract/services';
import { parseConfig } from '@gatehouse/kit/config';
import { createLogger, logDestination } from '@gatehouse/kit/log';
import { createProcessRegistry } from '@gatehouse/kit/metrics';
import { bodyBudget } from '@gatehouse/http/body-share';
import { composeServices } from '@gatehouse/shell/compose-services';
import { ConnectionCount } from '@gatehouse/shell/connection-count';
import { Neighbours } from '@gatehouse/shell/neighbours';
import type { Runnable } from '@gatehouse/shell/run';
import { serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';
import { creators } from './creators.ts';
import { environmentOf, sharedConnections, type Environment } from './environment.ts';

const allServices = services.map(({ name }) => name);

const settings = z.object({
  ...serviceSettings,
  /** Each service has its own key. */
  ASSERTION_PRIVATE_KEY: z.string().optional(),
  /** The services of this process, in a comma list. */
  GATEHOUSE_SERVICES: z
    .string()
    .default(allServices.join())
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(allServices as [ServiceName, ...ServiceName[]])).min(1)),
});

/**
 * Several services in one process, by default all of them: one admin port, one log, one budget for the bodies of
 * requests. Only the edge listens, unless services running elsewhere need the others.
 */
export async function createProcess(environment: Environment, counted?: ConnectionCount): Promise<Runnable> {
  const config = parseConfig(settings, environment);
  const names = allServices.filter((name) => config.GATEHOUSE_SERVICES.includes(name));
  const destination = logDestination();
  const log = createLogger('gatehouse', config.LOG_LEVEL, destination);
  const registry = createProcessRegistry('gatehouse');
  const listen = names.length < allServices.length;
  const connections = counted ?? new ConnectionCount(sharedConnections(environment, names));
  const neighbours = new Neighbours(names, { listen, connections });
  const shared = { neighbours, bodyBudget: bodyBudget(config, registry) };
  const created = [];
  for (const name of names) {
    const serviceEnvironment = environmentOf(name, names, environment);
    const level = serviceEnvironment['LOG_LEVEL'] ?? config.LOG_LEVEL;
    created.push(
      await creators[name](serviceEnvironment, { ...shared, log: createLogger(name, level, destination) }),
    );
  }
  return composeServices(created, { log, registry, config });
}
