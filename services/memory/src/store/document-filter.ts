import type { SearchFilter } from '../search/search.ts';

/** The SQL condition for documents `d` that a filter lets through; its values begin with this parameter. */
export function matching(first: number): string {
  const [prefix, metadata, since, until] = [first, first + 1, first + 2, first + 3];
  return `($${prefix}::text is null or starts_with(d.path, $${prefix}))
       and ($${metadata}::jsonb is null or d.metadata @> $${metadata})
       and ($${since}::timestamptz is null or d.updated_at >= $${since})
       and ($${until}::timestamptz is null or d.updated_at < $${until})`;
}

export function filterValues({ pathPrefix, metadata, since, until }: SearchFilter): (string | null)[] {
  return [pathPrefix, metadata && JSON.stringify(metadata), since, until];
}

export function isEmpty(filter: SearchFilter): boolean {
  return filterValues(filter).every((value) => value === null);
}
