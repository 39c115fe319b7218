import type { AuditAction } from '@gatehouse/contract/audit';
import type { Call } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import type { Reply } from '@gatehouse/http/reply';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import type { Changed, Queryable } from '@gatehouse/pg/pool';
import type { Changes } from './changes.ts';

type Kind<Action = AuditAction> = Action extends `${infer Name}.${string}` ? Name : never;
type ActionOf<Type extends string> = Extract<AuditAction, `${Type}.${string}`>;

export interface ResourceOptions<Type extends Kind, Row> {
  /** Its name in errors: `There is no such <what>.` */
  what: string;
  /** Its type in the audit log: the first part of its actions. */
  type: Type;
  /** The public view, in responses and in the audit log. */
  show: (row: Row) => object;
  changes: Changes;
}

/** Replies of handlers to list, read, create, change and delete resources of one kind. */
export function resourceReplies<Type extends Kind, Row extends { id: string }>({
  what,
  type,
  show,
  changes,
}: ResourceOptions<Type, Row>) {
  // Each reply below takes an action of its type in the contract.
  const action = (name: string) => `${type}.${name}` as ActionOf<Type>;
  return {
    /** A page, newest first. */
    list: (
      call: Parameters<typeof pageReply>[0],
      read: (page: PageRequest) => Promise<PageRows<Row> | Row[]>,
    ): Promise<Reply> => pageReply(call, read, show),

    /** The resource with the id in the path, or 404. */
    async get({ params }: Pick<Call, 'params'>, find: (id: string) => Promise<Row | null>): Promise<Reply> {
      return { body: show(orNotFound(await find(resourceId(params, what)), what)) };
    },

    /** A new resource with its location. `extra` is in the response alone, such as a secret. */
    async create(call: Call, insert: (db: Queryable) => Promise<Row>, extra: object = {}): Promise<Reply> {
      return changes.change(call, async (db) => {
        const row = await insert(db);
        const { id } = row;
        return {
          body: { ...show(row), ...extra },
          headers: { location: `${call.route.path}/${id}` },
          changes: [{ action: action('created'), id, before: null, after: show(row) }],
        };
      });
    },

    /** A changed resource, or 404 for null. `extra` is in the response alone. */
    async change(
      call: Call,
      update: (db: Queryable, id: string) => Promise<Changed<Row> | null>,
      { verb = 'updated', extra = {} } = {},
    ): Promise<Reply> {
      const id = resourceId(call.params, what);
      return changes.change(call, async (db) => {
        const { before, after } = orNotFound(await update(db, id), what);
        return {
          body: { ...show(after), ...extra },
          changes: [{ action: action(verb), id, before: show(before), after: show(after) }],
        };
      });
    },

    /** Deletes the resource; `remove` returns it as it was, or null for a 404. */
    async delete(call: Call, remove: (db: Queryable, id: string) => Promise<Row | null>): Promise<Reply> {
      const id = resourceId(call.params, what);
      return changes.change(call, async (db) => {
        const row = orNotFound(await remove(db, id), what);
        return { changes: [{ action: action('deleted'), id, before: show(row), after: null }] };
      });
    },
  };
}
