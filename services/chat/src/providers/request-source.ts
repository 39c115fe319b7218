import type { RequestSource } from '@gatehouse/dialects/dialect';

/** The same request, whose release is another one. */
export function withRelease(source: RequestSource, release: () => void): RequestSource {
  return {
    get bytes(): number {
      return source.bytes;
    },
    rewritten: (rewrite) => source.rewritten(rewrite),
    copied: (bytes) => source.copied(bytes),
    droppedFields: (model) => source.droppedFields?.(model) ?? [],
    release,
  };
}
