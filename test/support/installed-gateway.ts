import { untilSecond } from './minute.ts';
import { startProviderSimulator, type ProviderSimulator } from './provider-simulator/simulator.ts';
import { query } from './query.ts';
import { callGateway, type Answer, type Call, type ServiceName, type SomeGateway } from './some-gateway.ts';
import { makeTenant, type TenantAccess } from './tenants.ts';

/** Environment variable with JSON about an installed gateway; tests that can use any gateway then use that one. */
export const targetVariable = 'GATEHOUSE_TEST_TARGET';

export interface Target {
  url: string;
  ownerKey: string;
  /** URL with the superuser. */
  databaseUrl: string;
  /** Address of the provider `simulator` in its catalogue. */
  simulator: { host: string; port: number };
}

/**
 * A gateway that is already installed. The test runs the provider simulator at the address in the catalogue of the
 * gateway.
 */
export class InstalledGateway implements SomeGateway {
  readonly url: string;
  readonly ownerKey: string;
  readonly simulator: ProviderSimulator;
  readonly #databaseUrl: string;

  private constructor(target: Target, simulator: ProviderSimulator) {
    this.url = target.url;
    this.ownerKey = target.ownerKey;
    this.simulator = simulator;
    this.#databaseUrl = target.databaseUrl;
  }

  static async open(target: Target): Promise<InstalledGateway> {
    return new InstalledGateway(
      target,
      await startProviderSimulator({ ...target.simulator, apiKey: 'provider-key' }),
    );
  }

  call(route: string, call?: Call): Promise<Answer> {
    return callGateway(this.url, route, call);
  }

  rows(_service: ServiceName, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return query(this.#databaseUrl, sql, values);
  }

  untilSecond(second: number): Promise<void> {
    return untilSecond(second);
  }

  makeTenant(settings: Record<string, unknown> = {}): Promise<TenantAccess> {
    return makeTenant(this, settings);
  }

  /** Leaves the gateway running. */
  async stop(): Promise<void> {
    await this.simulator.close();
  }
}
