import { AppError } from '@gatehouse/kit/errors';
import type { Tenant } from '../tenants/tenant.ts';
import { modelsOf, problemsOf } from './preview.ts';
import {
  assertComplete,
  type DescribeTransfer,
  type SourceSide,
  type TargetSide,
  type TransferPlan,
} from './transfer-plan.ts';

export interface TransferPartiesOptions {
  findTenant: (id: string) => Promise<Tenant | null>;
  describe: DescribeTransfer;
  /** The models, by the names of agents, that a tenant can't use. Throws while they can't be known. */
  unusable: (tenantId: string, models: readonly string[]) => Promise<readonly string[]>;
}

/** The tenants of transfers, and what services know of them. */
export class TransferParties {
  readonly #options: TransferPartiesOptions;

  constructor(options: TransferPartiesOptions) {
    this.#options = options;
  }

  /** Throws if the tenant is missing or not active. */
  async activeTenant(id: string, param: string): Promise<Tenant> {
    const tenant = await this.#options.findTenant(id);
    if (tenant === null)
      throw new AppError('invalid_value', `Invalid value for ${param}: there is no such tenant.`, { param });
    if (tenant.status !== 'active')
      throw new AppError('tenant_suspended', `The tenant ${tenant.slug} is ${tenant.status}.`, { param });
    return tenant;
  }

  /** Both sides of a plan as they are. Throws if it is not complete; `check` sees the source before. */
  async described(
    plan: TransferPlan,
    target: Tenant,
    check?: (source: SourceSide) => void,
  ): Promise<{ source: SourceSide; target: TargetSide }> {
    const { conflicts, problems, ...source } = await this.#options.describe(plan);
    check?.(source);
    assertComplete(plan, source);
    const checked = { conflicts, problems };
    const forbidden = await this.#forbidden(target, modelsOf(plan, source, checked));
    return { source, target: { conflicts, problems: problemsOf(plan, source, checked, forbidden) } };
  }

  /** Names may be aliases, or stand behind patterns, so a list of models is read by the service with the catalogue. */
  async #forbidden({ id, allowedModels }: Tenant, models: readonly string[]): Promise<readonly string[]> {
    return allowedModels === null || models.length === 0 ? [] : this.#options.unusable(id, models);
  }

  /** The source alone: an admin learns nothing of the target before it has accepted, not even whether it exists. */
  async describedSource(plan: TransferPlan): Promise<SourceSide> {
    const { resources, dependencies } = await this.#options.describe({ ...plan, targetTenantId: '' });
    const source = { resources, dependencies };
    assertComplete(plan, source);
    return source;
  }
}
