import { Store } from '@gatehouse/pg/store';

/** One form of a name in a request. */
export interface NameForm {
  tenantId: string;
  folded: string;
}

/** A user as doors and chat know it. */
export interface ResolvedUser {
  id: string;
  /** Null for a block whose user was deleted. */
  userId: string | null;
  isBlocked: boolean;
  groups: readonly { id: string; name: string }[];
  /** Whether the last noted request is more than an hour ago. */
  lastSeenIsStale: boolean;
}

/** Users of all tenants. `pool` acts as `tenant_system`. */
export class UserSystemStore extends Store {
  /** The users with these names, in their order; null for a name without one. */
  async resolve(forms: readonly NameForm[]): Promise<(ResolvedUser | null)[]> {
    const rows = await this.pool.all<ResolvedUser & { place: number }>({
      name: 'resolve_users',
      text: `select form.place::integer as place, u.*
        from unnest($1::uuid[], $2::text[]) with ordinality as form (tenant_id, folded, place)
        cross join lateral (
          select u.id, u.user_id as "userId", u.blocked_by <> '{}' as "isBlocked",
            coalesce(u.last_seen_at < now() - interval '1 hour', true) as "lastSeenIsStale",
            array(
              select json_build_object('id', g.id, 'name', g.name)
              from tenant.group_members m cross join lateral (
                select id, name, folded from tenant.groups where id = m.group_id limit 1) g
              where m.person_id = u.id order by g.folded) as groups
          from tenant.user_names n join tenant.users u on u.id = n.person_id
          where n.tenant_id = form.tenant_id and n.folded = form.folded limit 1) as u`,
      values: [forms.map(({ tenantId }) => tenantId), forms.map(({ folded }) => folded)],
    });
    const byPlace = new Map(rows.map(({ place, ...user }) => [place, user]));
    return forms.map((_, index) => byPlace.get(index + 1) ?? null);
  }

  /** Notes requests for users, of each once an hour at most, however many replicas call it. */
  async touch(ids: readonly string[]): Promise<void> {
    await this.pool.query({
      name: 'touch_users',
      text: `update tenant.users set last_seen_at = now() where id = any(array(
        select id from tenant.users
        where id = any($1::uuid[]) and user_id is not null
          and coalesce(last_seen_at < now() - interval '1 hour', true)
        for update skip locked))`,
      values: [ids],
    });
  }
}
