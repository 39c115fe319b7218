import {
  maxEndpoints,
  type CreateWebhookEndpoint,
  type listWebhookEndpoints,
  type PatchWebhookEndpoint,
  type RotateWebhookSecret,
} from '@gatehouse/contract/webhook-endpoints';
import { resourceReplies } from '@gatehouse/audited-changes/resource';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import type { Reply } from '@gatehouse/http/reply';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import { assertNetworks } from './networks.ts';
import { newSettings, patchedSettings, showEndpoint, type Endpoint } from './endpoint.ts';
import { newStandardSecret, secretFor } from '../signatures/signing-secret.ts';
import type { Ground } from '../ground.ts';
import { rotationOf } from '../secrets/rotation.ts';
import type { Templates } from '../templates/templates.ts';
import {
  countEndpoints,
  deleteEndpoint,
  insertEndpoint,
  lockEndpoint,
  replaceSecret,
  updateEndpoint,
  type EndpointStore,
} from './endpoint-store.ts';
import { readSecret } from '../secrets/rotation-store.ts';

type List = Call<unknown, z.output<typeof listWebhookEndpoints>>;
type Create = Call<CreateWebhookEndpoint>;
type Patch = Call<PatchWebhookEndpoint>;
type Rotate = Call<RotateWebhookSecret>;

const what = 'webhook endpoint';

export interface EndpointDependencies extends Pick<Ground, 'agents' | 'guard' | 'secrets' | 'changes'> {
  endpoints: EndpointStore;
  templates: Templates;
  /** Whether the tenant has a channel. */
  hasChannel: (tenantId: string, id: string) => Promise<boolean>;
  /** Whether the operator allows the scheme `token`. */
  allowToken: boolean;
  /** The URL by which clients reach the gateway; empty where it is not set. */
  publicUrl: string;
}

/** `/v1/webhooks/endpoints*` */
export function endpointHandlers(dependencies: EndpointDependencies): Record<string, Handler> {
  const { agents, endpoints, secrets, allowToken } = dependencies;
  const replies = repliesOf(dependencies);
  return {
    'webhooks.endpoints.list': (call: List) =>
      replies.list(call, (page) => endpoints.list(tenantOf(call).tenantId, page)),

    'webhooks.endpoints.create': async (call: Create) => {
      const { tenantId } = tenantOf(call);
      const { scheme, secret: provided } = call.body;
      if (scheme === 'token' && !allowToken)
        throw new AppError('invalid_value', 'The operator does not allow the scheme token.', {
          param: 'scheme',
        });
      const [secret, callbackSecret] = [secretFor(scheme, provided), newStandardSecret()];
      const requested = newSettings(call.body);
      await assertUsable(call, requested, dependencies);
      // The agent last: a dry run for an agent still to be created reports all other errors first.
      const settings = { ...requested, agent_id: await agents.idOf(call, requested.agent_id) };
      const id = newId();
      const place = { tenantId, table: 'endpoints', id } as const;
      const sealed = {
        secret: secrets.seal({ ...place, column: 'secret' }, secret),
        callbackSecret: secrets.seal({ ...place, column: 'callback_secret' }, callbackSecret),
      };
      const insert = async (db: Queryable) => {
        if ((await countEndpoints(db, tenantId)) >= maxEndpoints)
          throw new AppError('limit_reached', `There may be ${maxEndpoints} endpoints.`);
        return insertEndpoint(db, { id, tenantId, scheme, settings, secrets: sealed });
      };
      return replies.create(call, insert, { secret, callback_secret: callbackSecret });
    },

    'webhooks.endpoints.get': (call: Call) =>
      replies.get(call, (id) => endpoints.find(tenantOf(call).tenantId, id)),

    'webhooks.endpoints.patch': async (call: Patch) => {
      const [{ tenantId }, id] = [tenantOf(call), resourceId(call.params, what)];
      orNotFound(await endpoints.find(tenantId, id), what);
      const { callback_secret: secret, overlap_seconds: overlapS } = call.body;
      const callbackSecret =
        secret === undefined ? undefined : secretFor('standard', secret, 'callback_secret');
      const place = { tenantId, table: 'endpoints', column: 'callback_secret', id } as const;
      // The agent and the URL of a patch are checked before the row is locked: no transaction waits for another service.
      const { agent_id: ref, ...others } = call.body;
      await assertUsable(call, others, dependencies);
      const body = { ...others, ...(ref !== undefined && { agent_id: await agents.idOf(call, ref) }) };
      return replies.change(call, async (db) => {
        const before = orNotFound(await lockEndpoint(db, id), what);
        const current = await readSecret(db, place);
        const rotation = rotationOf(secrets, place, { current, next: callbackSecret, overlapS });
        const after = await updateEndpoint(db, before, patchedSettings(before, body), rotation);
        return { before, after };
      });
    },

    'webhooks.endpoints.delete': (call: Call) =>
      replies.delete(call, async (db, id) => {
        const endpoint = await lockEndpoint(db, id);
        if (endpoint !== null) await deleteEndpoint(db, id);
        return endpoint;
      }),

    'webhooks.endpoints.rotate-secret': (call: Rotate) => rotateSecret(call, dependencies),
  };
}

function repliesOf({ changes, publicUrl }: EndpointDependencies) {
  const show = (endpoint: Endpoint) => showEndpoint(endpoint, publicUrl);
  return resourceReplies({ what, type: 'webhook_endpoint', show, changes });
}

async function rotateSecret(call: Rotate, dependencies: EndpointDependencies): Promise<Reply> {
  const { endpoints, secrets } = dependencies;
  const { tenantId } = tenantOf(call);
  const id = resourceId(call.params, what);
  const { scheme } = orNotFound(await endpoints.find(tenantId, id), what);
  const secret = secretFor(scheme, call.body.secret);
  const sealed = secrets.seal({ tenantId, table: 'endpoints', column: 'secret', id }, secret);
  const rotation = { id, secret: sealed, overlapSeconds: call.body.overlap_seconds };
  const options = { verb: 'rotated', extra: { secret } };
  return repliesOf(dependencies).change(call, (db) => replaceSecret(db, rotation), options);
}

/** Throws a 400 unless the URL, the networks, the template and the channel may be used. */
async function assertUsable(
  call: Call,
  {
    callback_url: url,
    allowed_cidrs: networks,
    template,
    deliver_to: deliverTo,
  }: Pick<PatchWebhookEndpoint, 'callback_url' | 'allowed_cidrs' | 'template' | 'deliver_to'>,
  { guard, templates, hasChannel }: EndpointDependencies,
): Promise<void> {
  assertNetworks(networks ?? []);
  if (typeof template === 'string') await templates.check(tenantOf(call).tenantId, template);
  if (typeof url === 'string') await guard.check(url, 'callback_url');
  if (deliverTo === null || deliverTo === undefined) return;
  if (!(await hasChannel(tenantOf(call).tenantId, deliverTo.channel_instance_id)))
    throw new AppError('invalid_value', 'There is no such channel.', {
      param: 'deliver_to.channel_instance_id',
    });
}
