import {
  maxSubscriptions,
  type CreateWebhookSubscription,
  type listWebhookSubscriptions,
  type PatchWebhookSubscription,
} from '@gatehouse/contract/webhook-subscriptions';
import { resourceReplies } from '@gatehouse/audited-changes/resource';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { MinuteCounts } from '@gatehouse/pg/minute-counts';
import type { Queryable } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import type { EventQueue } from './event-queue-store.ts';
import { platformId } from '../shared/ref.ts';
import { patched, showSubscription } from './subscription.ts';
import type { DeliveryQueue } from '../deliveries/delivery-queue-store.ts';
import { newStandardSecret, secretFor } from '../signatures/signing-secret.ts';
import { rotationOf } from '../secrets/rotation.ts';
import type { Ground } from '../ground.ts';
import { deliveryById } from '../deliveries/delivery-store.ts';
import { readSecret } from '../secrets/rotation-store.ts';
import {
  countSubscriptions,
  deleteSubscription,
  insertSubscription,
  lockSubscription,
  updateSubscription,
  type SubscriptionStore,
} from './subscription-store.ts';
import { showDelivery } from '../deliveries/delivery.ts';

type List = Call<unknown, z.output<typeof listWebhookSubscriptions>>;
type Create = Call<CreateWebhookSubscription>;
type Patch = Call<PatchWebhookSubscription>;

const what = 'webhook subscription';

export interface SubscriptionDependencies extends Pick<Ground, 'guard' | 'secrets' | 'changes'> {
  subscriptions: SubscriptionStore;
  events: EventQueue;
  deliveries: DeliveryQueue;
  counts: MinuteCounts;
}

/** `/v1/webhooks/subscriptions*` and `/internal/v1/owner/webhook-subscriptions*` */
export function subscriptionHandlers(dependencies: SubscriptionDependencies): Record<string, Handler> {
  const tenantHandlers = handlersFor((call) => tenantOf(call).tenantId, dependencies);
  const ownerHandlers = handlersFor(() => platformId, dependencies);
  return {
    ...withPrefix('webhooks.subscriptions', tenantHandlers),
    ...withPrefix('owner.webhook-subscriptions', ownerHandlers),
  };
}

function withPrefix(prefix: string, handlers: Record<string, Handler>): Record<string, Handler> {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [`${prefix}.${name}`, handler]),
  );
}

function handlersFor(
  whose: (call: Call) => string,
  { subscriptions, events, deliveries, guard, secrets, changes, counts }: SubscriptionDependencies,
): Record<string, Handler> {
  const replies = resourceReplies({ what, type: 'webhook_subscription', show: showSubscription, changes });
  return {
    list: (call: List) => replies.list(call, (page) => subscriptions.list(whose(call), page)),

    create: async (call: Create) => {
      const [tenantId, id, secret] = [whose(call), newId(), newStandardSecret()];
      await guard.check(call.body.url, 'url');
      const settings = patched(call.body, {});
      const sealed = secrets.seal({ tenantId, table: 'subscriptions', column: 'secret', id }, secret);
      const insert = async (db: Queryable) => {
        if ((await countSubscriptions(db, tenantId)) >= maxSubscriptions)
          throw new AppError('limit_reached', `There may be ${maxSubscriptions} subscriptions.`);
        return insertSubscription(db, { tenantId, id, settings, secret: sealed });
      };
      return replies.create(call, insert, { secret });
    },

    get: (call: Call) => replies.get(call, (id) => subscriptions.find(whose(call), id)),

    patch: async (call: Patch) => {
      const [tenantId, id] = [whose(call), resourceId(call.params, what)];
      if (call.body.url !== undefined) await guard.check(call.body.url, 'url');
      const { secret, overlap_seconds: overlapS } = call.body;
      const provided = secret === undefined ? undefined : secretFor('standard', secret);
      const place = { tenantId, table: 'subscriptions', column: 'secret', id } as const;
      return replies.change(call, async (db) => {
        const before = orNotFound(await lockSubscription(db, { tenantId, id }), what);
        const current = await readSecret(db, place);
        const rotation = rotationOf(secrets, place, { current, next: provided, overlapS });
        const after = await updateSubscription(db, id, patched(before, call.body), rotation);
        if (!after.enabled) await deliveries.giveUp(db, { subscriptionId: id });
        else if (after.url !== before.url) await deliveries.redirect(db, { tenantId, subscriber: after });
        return { before, after };
      });
    },

    delete: (call: Call) =>
      replies.delete(call, async (db, id) => {
        const before = await lockSubscription(db, { tenantId: whose(call), id });
        if (before !== null) await deleteSubscription(db, id);
        return before;
      }),

    test: async (call: Call) => {
      const [tenantId, id] = [whose(call), resourceId(call.params, what)];
      if (!call.dryRun) await counts.count(tenantId, 'test_events');
      return changes.change(call, async (db) => {
        const subscription = orNotFound(await lockSubscription(db, { tenantId, id }), what);
        const delivery = await deliveryById(db, await events.test(db, tenantId, subscription));
        return { body: showDelivery(delivery), changes: [] };
      });
    },
  };
}
