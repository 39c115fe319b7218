import type { RpcsOf } from '@gatehouse/grpc/rpc';

/** The RPCs of a service, of which the test implements some; all others fail. */
export function someRpcs<Definition extends object>(
  definition: Definition,
  played: Partial<RpcsOf<Definition>>,
): RpcsOf<Definition> {
  const unused = { callers: [], handle: () => Promise.reject(new Error('not part of this test')) };
  const all = Object.fromEntries(Object.keys(definition).map((method) => [method, unused]));
  // Each method of the definition is in one of them.
  return { ...all, ...played } as RpcsOf<Definition>;
}
