import { Batched } from '@gatehouse/kit/batched';
import type { Shell } from '@gatehouse/shell/shell';
import { LastUseWriter } from '../keys/last-use-writer.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { GroupStore } from './group-store.ts';
import { resolveUser } from './resolve-user-rpc.ts';
import { userHandlers } from './user-handlers.ts';
import { UserStore } from './user-store.ts';
import { UserSystemStore, type NameForm, type ResolvedUser } from './user-system-store.ts';

/** The directory of users and groups, and the meaning of their names for other services. */
export function createUsers({ log }: Shell, { app, system, known, keyRing, changes }: BaseDependencies) {
  const resolving = new UserSystemStore(known);
  const resolved = new Batched<NameForm, ResolvedUser | null>((forms) => resolving.resolve(forms));
  const seen = new UserSystemStore(system);
  const lastSeen = new LastUseWriter({ touch: (ids) => seen.touch(ids), log, subject: 'users' });
  return {
    handlers: userHandlers({ users: new UserStore(app), groups: new GroupStore(app), keyRing, changes }),
    rpcs: {
      resolveUser: resolveUser({
        ...{ resolve: (form) => resolved.get(form), keyRing },
        noteSeen: (id) => lastSeen.note(id),
      }),
    },
    parts: [lastSeen],
  };
}
