import type { ProviderDeployment } from '@gatehouse/contract/owner-providers';
import type { Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import type { Reply } from '@gatehouse/http/reply';
import { joinedReports } from './provider-report.ts';
import type { ProviderReports } from './provider-report-job.ts';
import type { ProviderRegistry } from './registry.ts';
import { listBytes } from '../bounds.ts';

/** The health of providers. Concurrent requests share one list. */
export function providerHandlers(
  registry: Pick<ProviderRegistry, 'listed'>,
  reports: Pick<ProviderReports, 'all'>,
): Record<string, Handler> {
  const lists = new SharedCalls<Reply>();
  return {
    'owner.providers.list': () =>
      lists.get('', async () => {
        const joined = joinedReports(await reports.all());
        const listed = registry.listed();
        const list = new BoundedItems<ProviderDeployment>(listBytes);
        const isWhole = list.addAll(listed, joined) === listed.length;
        return { body: { object: 'list', data: list.items, ...(!isWhole && { has_more: true }) } };
      }),
  };
}
