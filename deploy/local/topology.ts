import { services, type ServiceEntry } from '@gatehouse/contract/services';
import { freePort } from './ports.ts';
import type { LocalSettings } from './settings.ts';

/** A process of a service and its ports, which stay the same over restarts. */
export interface Replica {
  /** `<service>-<n>`, counted from 1. */
  name: string;
  service: ServiceEntry;
  ports: { http: number; admin: number; grpc?: number };
}

/** Plans all processes of all services in the order of their start, each with its own ports. */
export async function planReplicas(settings: Pick<LocalSettings, 'port' | 'replicas'>): Promise<Replica[]> {
  const planned: Replica[] = [];
  for (const service of services) {
    for (let index = 0; index < (settings.replicas.get(service.name) ?? 1); index += 1) {
      planned.push({
        name: `${service.name}-${index + 1}`,
        service,
        ports: {
          http: service.public ? settings.port + index : await freePort(),
          admin: await freePort(),
          ...(service.grpc ? { grpc: await freePort() } : {}),
        },
      });
    }
  }
  return planned;
}

/** The addresses of all processes of a service: `host:port,host:port`. */
export function addressList(
  replicas: readonly Replica[],
  service: string,
  port: 'http' | 'grpc',
  host: string,
): string {
  return replicas
    .filter((replica) => replica.service.name === service && replica.ports[port] !== undefined)
    .map((replica) => `${host}:${replica.ports[port] ?? 0}`)
    .join(',');
}
