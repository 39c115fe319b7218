import { routes } from '@gatehouse/contract/routes';
import { innerServices, type ServiceName } from '@gatehouse/contract/services';
import { anonymousBudget } from '@gatehouse/http/body-share';
import type { PaceOptions } from '@gatehouse/http/pace-check';
import type { Shell } from '@gatehouse/shell/shell';
import { upstreamAddresses, type EdgeConfig } from '../config.ts';
import { AddressList } from '../replicas/address-list.ts';
import { Liveness } from '../replicas/liveness.ts';
import { Forwarder, streamsBody } from './forwarder-handlers.ts';
import { GeneralProxy } from './general-proxy-client.ts';
import { PassThrough } from './pass-through-client.ts';
import { RequestBodies } from './request-body-handlers.ts';

/** The ways to the services: those of this process, and the replicas of all others. */
export function createProxy(
  { neighbours, bodyBudget: budget, registry, log, certificate }: Shell,
  config: EdgeConfig,
  pace: PaceOptions | undefined,
) {
  const tlsOf = (service: ServiceName) => (certificate === undefined ? undefined : { service, certificate });
  const addresses = new Map<ServiceName, AddressList>();
  const passThrough = new Map<ServiceName, PassThrough>();
  for (const name of innerServices) {
    if (neighbours?.find(name) !== undefined) continue;
    const list = new AddressList(upstreamAddresses(config, name), log);
    addresses.set(name, list);
    if (routes.some((route) => route.service === name && streamsBody(route)))
      passThrough.set(name, new PassThrough(list, { tls: tlsOf(name) }));
  }
  const bodies = new RequestBodies({ budget, anonymous: anonymousBudget(registry), pace });
  const general = new GeneralProxy({ certificate });
  const forwarder = new Forwarder({ neighbours, addresses, bodies, general, passThrough, log });
  return {
    forwarder,
    parts: [
      ...[...addresses].flatMap(([name, list]) => [list, new Liveness(list, { tls: tlsOf(name) })]),
      { stop: () => forwarder.close() },
    ],
  };
}
