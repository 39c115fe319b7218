import { resourceReplies } from '@gatehouse/audited-changes/resource';
import {
  maxChannelInstances,
  type ChannelCredentials,
  type ChannelType,
  type CreateChannelInstance,
  type listChannelInstances,
  type PatchChannelInstance,
} from '@gatehouse/contract/channel-instances';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import {
  newSettings,
  patchedSettings,
  placeOf,
  shaped,
  showChannel,
  type Channel,
  type SealedChannel,
} from './channel.ts';
import type { ChannelAccounts } from './adapter.ts';
import { adapterOf, firstStatus, type ChannelAdapters } from './adapters.ts';
import type { ChannelQueue } from './channel-queue-store.ts';
import type { Ground } from '../ground.ts';
import { rotationOf } from '../secrets/rotation.ts';
import {
  countChannels,
  deleteChannel,
  insertChannel,
  lockChannel,
  updateChannel,
  type ChannelStore,
} from './channel-store.ts';
import { dayS } from '../bounds.ts';

type List = Call<unknown, z.output<typeof listChannelInstances>>;
type Create = Call<CreateChannelInstance>;
type Patch = Call<PatchChannelInstance>;

const what = 'channel';

export interface ChannelDependencies extends Pick<Ground, 'agents' | 'guard' | 'secrets' | 'changes'> {
  channels: ChannelStore;
  adapters: ChannelAdapters;
  queue: ChannelQueue;
  /** The URL by which clients reach the gateway. */
  publicUrl: string;
}

/** `/v1/channels/instances*` */
export function channelHandlers(dependencies: ChannelDependencies): Record<string, Handler> {
  const { channels, secrets, adapters, queue, changes, publicUrl } = dependencies;
  const show = (channel: Channel) => showChannel(channel, publicUrl);
  const replies = resourceReplies({ what, type: 'channel_instance', show, changes });
  return {
    'channels.instances.list': (call: List) => {
      const { type = null } = call.query;
      return replies.list(call, (page) => channels.list(tenantOf(call).tenantId, { ...page, type }));
    },

    'channels.instances.create': async (call: Create) => {
      const [{ tenantId }, id] = [tenantOf(call), newId()];
      const { type } = call.body;
      const settings = newSettings(call.body);
      const credentials = credentialsOf(adapters, type, call.body.credentials);
      await assertUsable(call, call.body, dependencies);
      const sealed = secrets.seal(placeOf({ tenantId, id }), JSON.stringify(credentials));
      const insert = async (db: Queryable) => {
        if ((await countChannels(db, tenantId)) >= maxChannelInstances)
          throw new AppError('limit_reached', `There may be ${maxChannelInstances} channels.`);
        const status = firstStatus(adapters, type);
        const made = await insertChannel(db, { id, tenantId, type, settings, credentials: sealed, status });
        await queue.check(db, { tenantId, id });
        return made;
      };
      return replies.create(call, insert, adapterOf(adapters, type).completed && credentials);
    },

    'channels.instances.get': (call: Call) =>
      replies.get(call, (id) => channels.find(tenantOf(call).tenantId, id)),

    'channels.instances.patch': async (call: Patch) => {
      const [{ tenantId }, id] = [tenantOf(call), resourceId(call.params, what)];
      const { type } = orNotFound(await channels.find(tenantId, id), what);
      // The agent and the URL of a patch are checked before the row is locked: no transaction waits for another service.
      await assertUsable(call, { ...call.body, type }, dependencies);
      return replies.change(call, async (db) => {
        const before = orNotFound(await lockChannel(db, id), what);
        const settings = patchedSettings(before, call.body);
        const credentials = call.body.credentials;
        const { accounts, needsConsent = false, completed } = adapterOf(adapters, type);
        const isOther = accounts !== undefined && isOtherAccount(accounts, before, settings);
        // A consent outlives new credentials.
        const isKept = credentials === undefined || needsConsent;
        const state = isOther ? 'pending' : isKept ? null : firstStatus(adapters, type);
        // Those of another account prove nothing for this one.
        const overlapS = isOther ? 0 : call.body.overlap_seconds;
        const rotation = rotationOf(secrets, placeOf(before), {
          ...{ current: before.credentials, overlapS },
          next: credentials === undefined ? undefined : merged(before, credentials, dependencies),
          defaultS: completed === undefined ? 0 : dayS,
        });
        const acceptedS = overlapS ?? (rotation.sealed === null ? null : 0);
        const after = await updateChannel(db, id, { settings, rotation, acceptedS, state });
        // Credentials may be valid again, and what waits may go on.
        await queue.check(db, { tenantId, id });
        return { before, after };
      });
    },

    'channels.instances.delete': (call: Call) =>
      replies.delete(call, async (db, id) => {
        const before = await lockChannel(db, id);
        if (before !== null) await deleteChannel(db, id);
        return before;
      }),
  };
}

/** The credentials as the type needs them, with the gateway's own ones. Throws a 400. */
function credentialsOf(adapters: ChannelAdapters, type: ChannelType, fields: object): object {
  const credentials = shaped(type, 'credentials', fields) as ChannelCredentials;
  return adapterOf(adapters, type).completed?.(credentials) ?? credentials;
}

/** The credentials after a patch: omitted members are kept. Throws a 400 for members unknown to the type. */
function merged(before: SealedChannel, fields: object, { adapters, secrets }: ChannelDependencies): string {
  const stored = JSON.parse(secrets.open(placeOf(before), before.credentials)) as object;
  return JSON.stringify(credentialsOf(adapters, before.type, { ...stored, ...fields }));
}

/** Whether a channel would be for another app or account, for which its tokens are not good. */
function isOtherAccount(
  accounts: ChannelAccounts<ChannelType>,
  before: Channel,
  { config }: Pick<Channel, 'config'>,
): boolean {
  const [old, next] = [accounts.fieldsOf(before.config), accounts.fieldsOf(config)];
  return old.app !== next.app || old.account !== next.account;
}

/** Throws a 400 unless the agent exists for the caller, and the URL may be called. */
async function assertUsable(
  call: Call,
  {
    type,
    agent_id: agentId,
    config,
  }: Pick<PatchChannelInstance, 'agent_id' | 'config'> & { type: ChannelType },
  { agents, guard, adapters }: ChannelDependencies,
): Promise<void> {
  const url = adapterOf(adapters, type).callbackUrlOf?.(config ?? {});
  if (typeof url === 'string') await guard.check(url, 'config.callback_url');
  // Last: a dry run for an agent still to be created reports all other errors first.
  if (agentId !== undefined) await agents.idOf(call, agentId);
}
