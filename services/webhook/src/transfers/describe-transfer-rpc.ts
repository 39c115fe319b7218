import { channelTypes, maxChannelInstances } from '@gatehouse/contract/channel-instances';
import { maxEndpoints } from '@gatehouse/contract/webhook-endpoints';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { DescribeRequest, DescribeResponse, Problem } from '@gatehouse/proto/participant/v1/participant';
import { countsOf, idsOf } from '@gatehouse/transfers/describe';
import type { ChannelAdapters } from '../channels/adapters.ts';
import type { WebhookTransferStore } from './transfer-store.ts';

/** Shows the effect of a transfer on webhook endpoints and channels. */
export function describeTransfer(
  store: WebhookTransferStore,
  adapters: ChannelAdapters,
): Rpc<DescribeRequest, DescribeResponse> {
  const sharedTypes = channelTypes.filter((type) => adapters[type].accounts !== undefined);
  return {
    callers: ['tenant'],
    handle: async ({ mode, sourceTenantId, targetTenantId, resources: refs }) => {
      const ids = { endpoints: idsOf(refs, 'webhook_endpoint'), channels: idsOf(refs, 'channel_instance') };
      const transferables = await store.find(sourceTenantId, ids);
      // Resources left behind miss their agent only if it moves.
      const uses = mode === 'move' ? await store.findUses(sourceTenantId, idsOf(refs, 'agent')) : [];
      const shared = mode === 'move' ? await store.findShared(sourceTenantId, ids.channels, sharedTypes) : [];
      const known = new Set(transferables.map(({ id }) => id));
      const needs = [...transferables, ...uses.filter(({ id }) => !known.has(id))];
      const has = targetTenantId === '' ? { endpoints: 0, channels: 0 } : await store.count(targetTenantId);
      const more = (type: string) => transferables.filter((resource) => resource.type === type).length;
      return {
        resources: transferables.map(({ type, id, name, revision }) => ({
          ...{ ref: { type, id }, name, revision, hasSecrets: true, models: [] },
        })),
        // Calls and conversations stay with their tenant: a copy begins without any.
        counts:
          mode === 'move' ? transferables.map(({ type, id, counts }) => countsOf({ type, id }, counts)) : [],
        dependencies: [
          ...needs.map(({ type, id, name, agentId }) => ({
            ...{ of: { type, id }, ofName: name },
            needs: { type: 'agent', id: agentId },
          })),
          ...shared.map(({ id, name, otherId }) => ({
            ...{ of: { type: 'channel_instance', id }, ofName: name },
            needs: { type: 'channel_instance', id: otherId },
          })),
        ],
        conflicts: [],
        problems: [
          ...tooMany('webhook endpoints', {
            has: has.endpoints,
            more: more('webhook_endpoint'),
            most: maxEndpoints,
          }),
          ...tooMany('channels', {
            has: has.channels,
            more: more('channel_instance'),
            most: maxChannelInstances,
          }),
        ],
      };
    },
  };
}

function tooMany(what: string, { has, more, most }: Record<'has' | 'more' | 'most', number>): Problem[] {
  if (more === 0 || has + more <= most) return [];
  return [{ code: 'limit_reached', message: `The target may have ${most} ${what}.` }];
}
