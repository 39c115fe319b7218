import { TestGateway } from './gateway.ts';
import { InstalledGateway, targetVariable, type Target } from './installed-gateway.ts';
import type { Answer, Call, ServiceName, SomeGateway } from './some-gateway.ts';
import type { TenantAccess } from './tenants.ts';

interface Shared {
  gateway: Promise<TestGateway>;
  holders: number;
}

/** By their replicas. Test files that Jest runs as one, as `one-gateway.test.ts`, find those of each other here. */
const open = new Map<string, Shared>();

/**
 * Opens a gateway for tests that do not control how it runs: the installed one in the environment variable, otherwise
 * one in this process with this many replicas, which such tests share. Each makes tenants of its own.
 */
export async function openGateway(replicas: { edges?: number; chats?: number } = {}): Promise<SomeGateway> {
  const target = process.env[targetVariable];
  if (target !== undefined) return InstalledGateway.open(JSON.parse(target) as Target);
  const kind = JSON.stringify(replicas);
  const shared = open.get(kind) ?? { gateway: TestGateway.start(replicas), holders: 0 };
  open.set(kind, shared);
  shared.holders += 1;
  return new HeldGateway(await shared.gateway, async () => {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    open.delete(kind);
    await (await shared.gateway).stop();
  });
}

/** A gateway that stops with the last of its holders. */
class HeldGateway implements SomeGateway {
  readonly #gateway: TestGateway;
  readonly #release: () => Promise<void>;

  constructor(gateway: TestGateway, release: () => Promise<void>) {
    this.#gateway = gateway;
    this.#release = release;
  }

  get url(): string {
    return this.#gateway.url;
  }

  get ownerKey(): string {
    return this.#gateway.ownerKey;
  }

  get simulator(): TestGateway['simulator'] {
    return this.#gateway.simulator;
  }

  call(route: string, call?: Call): Promise<Answer> {
    return this.#gateway.call(route, call);
  }

  rows(service: ServiceName, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return this.#gateway.rows(service, sql, values);
  }

  untilSecond(second: number): Promise<void> {
    return this.#gateway.untilSecond(second);
  }

  makeTenant(settings?: Record<string, unknown>): Promise<TenantAccess> {
    return this.#gateway.makeTenant(settings);
  }

  stop(): Promise<void> {
    return this.#release();
  }
}
