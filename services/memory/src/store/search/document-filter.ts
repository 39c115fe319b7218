import type { SearchFilter } from '../../search/search.ts';

/** Behind every path: one has at most 512 characters. */
const lastPath = 'repeat(chr(1114111), 512)';

/**
 * SQL condition for documents `d` passing a filter; its values begin with this parameter. Under row-level security an
 * index serves comparisons of paths, but not `starts_with`.
 */
export function matching(first: number): string {
  const [prefix, metadata, since, until] = [first, first + 1, first + 2, first + 3];
  return `($${prefix}::text is null
            or (d.path >= $${prefix} and d.path < $${prefix} || ${lastPath} and starts_with(d.path, $${prefix})))
       and ($${metadata}::jsonb is null or d.metadata @> $${metadata})
       and ($${since}::timestamptz is null or d.updated_at >= $${since})
       and ($${until}::timestamptz is null or d.updated_at < $${until})`;
}

export function filterValues({ pathPrefix, metadata, since, until }: SearchFilter): (string | null)[] {
  return [pathPrefix, metadata && JSON.stringify(metadata), since, until];
}
