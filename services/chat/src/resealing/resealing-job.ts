import type { Logger } from '@gatehouse/kit/log';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { contextOfObject } from '../batches/sealed-object.ts';
import { contextOfResponse } from '../kept-responses/response-id.ts';

/** A value of any tenant, by its beginning. */
export interface Sealed {
  table: 'responses' | 'files' | 'batches';
  id: string;
  tenantId: string;
  userId: string | null;
  sealed: Buffer;
}

export interface ValuesToRewrap<Value extends Sealed> {
  keyRing: KeyRing;
  /** Up to `limit` values of each column that begin with one of these, except the ones with these ids. */
  find: (some: {
    prefixes: readonly Buffer[];
    except: readonly string[];
    limit: number;
  }) => Promise<readonly Value[]>;
  /** Replaces the beginning of a value that has not changed meanwhile. */
  replace: (value: Value, by: { head: Buffer; replacedBytes: number }) => Promise<void>;
  log: Logger;
}

const batch = 100;
/** Values that can't be opened; beyond these the round ends. */
const maxFailures = 1_000;

/**
 * Wraps the data keys of all values again that other keys than the first of the ring have wrapped. The values stay in the
 * database: a response may have 20 MiB. Returns how many it has wrapped.
 */
export async function rewrapValues<Value extends Sealed>({
  keyRing,
  find,
  replace,
  log,
}: ValuesToRewrap<Value>): Promise<number> {
  const prefixes = keyRing.stalePrefixes.map(({ prefix }) => prefix);
  const failed = new Set<string>();
  for (let wrapped = 0; ;) {
    const values = await find({ prefixes, except: [...failed], limit: batch });
    if (values.length === 0 || failed.size > maxFailures) return wrapped;
    for (const value of values) {
      try {
        await replace(value, keyRing.rewrap(value.sealed, contextOf(value)));
        wrapped += 1;
      } catch (error) {
        failed.add(value.id);
        log.error({ err: error, table: value.table, id: value.id }, 'failed to decrypt a secret');
      }
    }
  }
}

function contextOf({ table, id, tenantId, userId }: Sealed): string {
  return table === 'responses'
    ? contextOfResponse(id, { tenantId, userId })
    : contextOfObject({ id, tenantId });
}
