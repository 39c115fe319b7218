import { services, type ServiceEntry } from '@gatehouse/contract/services';
import { freePort } from './ports.ts';
import { allServices, type LocalSettings } from './settings.ts';

/** A process and its ports, which stay the same over restarts. */
export interface Replica {
  /** `<service>-<n>`, counted from 1; `gatehouse-<n>` if it runs all services. */
  name: string;
  services: readonly ServiceEntry[];
  ports: { http: number; admin: number; grpc?: number };
}

/** Plans all processes in the order of their start, each with its own ports. */
export async function planReplicas(settings: Pick<LocalSettings, 'port' | 'replicas'>): Promise<Replica[]> {
  const planned: Replica[] = [];
  const processes = settings.replicas.get(allServices);
  for (let index = 0; index < (processes ?? 0); index += 1) {
    const ports = { http: settings.port + index, admin: await freePort() };
    planned.push({ name: `gatehouse-${index + 1}`, services, ports });
  }
  if (processes !== undefined) return planned;
  for (const service of services) {
    for (let index = 0; index < (settings.replicas.get(service.name) ?? 1); index += 1) {
      planned.push({
        name: `${service.name}-${index + 1}`,
        services: [service],
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
    .filter((replica) => isAlone(replica, service) && replica.ports[port] !== undefined)
    .map((replica) => `${host}:${replica.ports[port] ?? 0}`)
    .join(',');
}

function isAlone({ services: run }: Replica, service: string): boolean {
  return run.length === 1 && run[0]?.name === service;
}
