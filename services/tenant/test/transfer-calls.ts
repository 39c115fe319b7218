import { expect } from '@jest/globals';
import type { WireTransfer } from '@gatehouse/contract/transfers';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import type { TenantServiceUnderTest, TestTenant } from './tenant-service.ts';

/** Transfers as their owner begins them and waits for them. */

export const transfersPath = '/v1/tenant/resource-transfers';

/** A transfer, or the error of a refused one. */
export type AnsweredTransfer = WireTransfer & { error: { code: string; message: string } };

interface Asked {
  source: TestTenant;
  target: TestTenant;
  resources: unknown[];
  mode: string;
  as: As;
}

/** Begins a transfer after its preview. */
export async function beginTransfer(
  tenants: TenantServiceUnderTest,
  { source, target, resources, mode, as }: Asked,
): Promise<{ status: number; body: AnsweredTransfer }> {
  const body = { mode, source_tenant_id: source.id, target_tenant_id: target.id, resources };
  const preview = await tenants.call('POST', `${transfersPath}/previews`, { as, body });
  const begun = await tenants.call('POST', transfersPath, { as, body: { preview_id: preview.body.id } });
  return { status: begun.status, body: begun.body as unknown as AnsweredTransfer };
}

/** A transfer once it does not run any more. */
export async function endedTransfer(
  tenants: TenantServiceUnderTest,
  { id }: { id: string },
): Promise<AnsweredTransfer> {
  return eventually(async () => {
    const { body } = await tenants.call('GET', `${transfersPath}/${id}`, { as: { role: 'owner' } });
    expect(body.status).not.toBe('running');
    return body as unknown as AnsweredTransfer;
  });
}
