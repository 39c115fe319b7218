import type { Rpc } from '@gatehouse/grpc/rpc';
import { Batched } from '@gatehouse/kit/batched';
import type { ListChangesRequest, ListChangesResponse } from '@gatehouse/proto/tenant/v1/tenant';
import { longestSilenceSeconds, maxChangedSubjects, maxChanges, maxSubjectsOfTenant } from '../bounds.ts';
import type { ChangesSince, ChangeSystemStore } from './change-system-store.ts';

/** A place in the order of commits, as callers hold it. Any replica continues from it. */
interface Position {
  server: string;
  at: number;
  snapshot: string;
}

/** `ListChanges`: one statement for all calls that arrive during the one before. */
export function listChanges(
  changes: Pick<ChangeSystemStore, 'since'>,
): Rpc<ListChangesRequest, ListChangesResponse> {
  const finder = new Batched((positions: readonly (Position | null)[]) =>
    changes.since(
      positions.map((position) => position?.snapshot ?? null),
      { changes: maxChanges + 1, subjects: maxChangedSubjects + 1, subjectsOfTenant: maxSubjectsOfTenant },
    ),
  );
  return {
    callers: ['chat', 'edge', 'memory', 'webhook'],
    handle: async ({ position: text }) => {
      const position = parsePosition(text);
      const changes = await finder.get(position);
      const { server, at, snapshot } = changes;
      const startsOver = position === null || isLost(position, changes);
      const subjects = startsOver ? [] : changes.subjects;
      return {
        position: `${server} ${at} ${snapshot}`,
        startsOver,
        subjects: subjects.map(({ subject }) => subject),
        tenantIds: subjects.map(({ tenantId }) => tenantId),
      };
    },
  };
}

/** Whether the changes since a position may be incomplete. */
function isLost(position: Position, { server, at, changes, subjects }: ChangesSince): boolean {
  const isLate = position.server !== server || at - position.at > longestSilenceSeconds;
  return isLate || changes > maxChanges || subjects.length > maxChangedSubjects;
}

/** Null for an invalid position, like the text of a first call. */
function parsePosition(text: string): Position | null {
  const [, server = '', at = '', snapshot = ''] = /^(\S+) ([\d.]+) (\d+:\d+:[\d,]*)$/.exec(text) ?? [];
  return snapshot === '' ? null : { server, at: Number(at), snapshot };
}
